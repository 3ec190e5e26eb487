"""Fine-tune BERT to classify or score one or two texts (GLUE).  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("classify")
