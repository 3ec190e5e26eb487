"""python -m bert_tf.records.inspect: shows what pre-training records hold."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("inspect")
