"""Make pre-training TFRecords from text: sentence pairs and masks.  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("data")
