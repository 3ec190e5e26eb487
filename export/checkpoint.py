"""Convert a checkpoint from any format to another.  --help lists every flag."""

import sys

from bert_tf import commands
from export.options import Conversion


def main(options: Conversion) -> None:
    from export.conversion import convert, verify

    try:
        convert.run(options)
    except verify.MismatchError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    commands.run("convert")
