"""Shows how texts are tokenized: one text per line in, one JSON object per line out.

python -m bert_tf.text.tokenize --vocab_file=vocab.txt "Unaffable!" "another text"
python -m bert_tf.text.tokenize --vocab_file=vocab.txt < texts.txt
"""

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bert_tf import commands, flagging
from bert_tf.errors import InputError
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizeOptions:
    """Flags of this tool."""

    vocab_file: str = flagging.option(
        flagging.REQUIRED, "The vocabulary, one token per line.", is_path=True
    )
    do_lower_case: bool = flagging.option(
        True, "Lower-case and strip accents: true for uncased vocabularies, false for cased ones."
    )
    form: str = flagging.option(
        "python",
        "Which form of the tokenizer; both give the same ids. 'python' also gives offsets; 'graph' "
        "makes training data and is part of exported models.",
        choices=("python", "graph"),
    )
    line_format: str = flagging.option(
        "auto",
        "How to read a line of standard input. 'text': as it stands; 'json': as a JSON string, "
        "which can hold line breaks; 'auto': as a JSON string if it is one, quotation marks "
        "included, else as it stands. Arguments are always taken as they stand.",
        choices=("auto", "text", "json"),
    )


def notes() -> str:
    """What --help says below the flags."""
    return (
        "Texts are the arguments or, without arguments, the lines of standard input. A\n"
        "blank line is an empty text, so that line N of the output belongs to line N of\n"
        "the input.\n\n"
        "A line of the output is a JSON object: ids and tokens, without special tokens.\n"
        "In the python form also offsets: the [start, end) characters of each token in\n"
        "the text."
    )


def main(options: TokenizeOptions, arguments: Sequence[str] = ()) -> None:
    """Prints an object for each text: the arguments, or the lines of standard input to its end."""
    vocabulary = vocab.from_file(options.vocab_file)
    try:
        vocab.check_casing(vocabulary, options.do_lower_case)
    except InputError as error:
        print(f"WARNING: {error}", file=sys.stderr)
    tokenizer = WordPieceTokenizer(vocabulary, options.do_lower_case)
    encode = _python_form(tokenizer) if options.form == "python" else _graph_form(tokenizer)
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    for text in arguments or _texts_of_standard_input(options.line_format):
        print(json.dumps(encode(text), ensure_ascii=False), flush=True)


def _python_form(tokenizer: WordPieceTokenizer) -> Callable[[str], dict[str, Any]]:
    def encode(text: str) -> dict[str, Any]:
        ids, offsets = tokenizer.encode_with_offsets(text)
        return {"ids": ids, "tokens": tokenizer.tokens(ids), "offsets": offsets}

    return encode


def _graph_form(tokenizer: WordPieceTokenizer) -> Callable[[str], dict[str, Any]]:
    from bert_tf.text.graph import GraphTokenizer  # TensorFlow takes seconds to load

    graph = GraphTokenizer(tokenizer.vocabulary, tokenizer.do_lower_case)

    def encode(text: str) -> dict[str, Any]:
        # JSON can hold half a surrogate pair, UTF-8 cannot; no token has either of the two.
        text = re.sub("[\ud800-\udfff]", "\U0010ffff", text)
        ids = graph([text.encode("utf-8")]).values.numpy().tolist()
        return {"ids": ids, "tokens": tokenizer.tokens(ids)}

    return encode


def _texts_of_standard_input(line_format: str) -> Iterator[str]:
    """Yields the text of each line.

    Raises:
      InputError: a line is not a JSON string, and the format is "json".
    """
    if sys.stdin.isatty():
        print("Type a text per line; Ctrl-D ends.", file=sys.stderr)
    for number, line in enumerate(sys.stdin.buffer, start=1):
        text, problem = _json_string(line) if line_format != "text" else (None, "")
        if text is None and line_format == "json":
            raise InputError(_not_a_string(number, problem))
        # As everywhere, bytes that are not UTF-8 are ignored.
        yield line.rstrip(b"\r\n").decode("utf-8", "ignore") if text is None else text


def _json_string(line: bytes) -> tuple[str | None, str]:
    """The text of a line that is a JSON string; else None, and why it is not one."""
    try:
        text = json.loads(line)
    except ValueError as error:
        return None, str(error)
    return (text, "") if isinstance(text, str) else (None, f"it is a {type(text).__name__}")


def _not_a_string(number: int, problem: str) -> str:
    return (
        f"Line {number} of standard input is not a JSON string ({problem}); with "
        '--line_format=json every line must be one, for example "Hello".'
    )


if __name__ == "__main__":
    commands.run("tokenize")
