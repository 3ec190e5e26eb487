"""Export a trained classifier as a SavedModel: texts in, answers out.  --help lists every flag."""

from bert_tf import flagging
from export import options


def main(export_options):
    from export import build

    build.run(export_options)


if __name__ == "__main__":
    flagging.run(main, options.Export)
