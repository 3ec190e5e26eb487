"""Export a trained classifier as a SavedModel: texts in, answers out.  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("export")
