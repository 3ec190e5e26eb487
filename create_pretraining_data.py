"""Make pre-training TFRecords from text: sentence pairs and masks.  --help lists every flag."""

from bert_tf import flagging, options


def main(run_options):
    from bert_tf.records.build import builder

    builder.run(run_options)


if __name__ == "__main__":
    flagging.run(main, options.PretrainingData)
