"""Pre-train BERT on TFRecords: masked LM and next sentence prediction.  --help lists every flag."""

from bert_tf import flagging, options


def main(run_options):
    from bert_tf.training import pretrain  # TensorFlow (4 s) loads only once the flags are right

    pretrain.run(run_options)


if __name__ == "__main__":
    flagging.run(main, options.PreTraining)
