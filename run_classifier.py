"""Fine-tune BERT to classify or score one or two texts (GLUE).  --help lists every flag."""

from bert_tf import flagging, options


def main(run_options):
    from bert_tf.training import classifier  # TensorFlow (4 s) loads only once the flags are right

    classifier.run(run_options)


if __name__ == "__main__":
    flagging.run(main, options.Classifier)
