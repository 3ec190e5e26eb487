"""Convert a checkpoint from any format to another.  --help lists every flag."""

import sys

from bert_tf import flagging
from export import options


def main(conversion_options):
    from export import conversion, conversion_verify

    try:
        conversion.run(conversion_options)
    except conversion_verify.MismatchError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    flagging.run(main, options.Conversion)
