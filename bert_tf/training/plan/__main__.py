"""python -m bert_tf.training.plan: what pre-training will need, before it runs."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("plan")
