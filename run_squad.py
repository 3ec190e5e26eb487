"""Fine-tune BERT to answer questions from a passage (SQuAD).  --help lists every flag."""

from bert_tf import flagging, options


def main(run_options):
    from bert_tf.training import squad  # TensorFlow (4 s) loads only once the flags are right

    squad.run(run_options)


if __name__ == "__main__":
    flagging.run(main, options.QuestionAnswering)
