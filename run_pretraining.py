"""Pre-train BERT on TFRecords: masked LM and next sentence prediction.  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("pretrain")
