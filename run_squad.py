"""Fine-tune BERT to answer questions from a passage (SQuAD).  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("squad")
