"""python -m bert_tf.training.report: writes the HTML report of a run."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("report")
