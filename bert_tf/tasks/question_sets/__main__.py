"""python -m bert_tf.tasks.question_sets: converts a set of questions to SQuAD's layout."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("questions")
