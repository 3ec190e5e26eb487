"""Shows how texts are tokenized: one JSON string per line in, one JSON object per line out.

    echo '"Unaffable!"' | python -m bert_tf.text.tokenize --vocab_file=vocab.txt

The object has `ids` and `tokens`, without special tokens. In the Python form it also has
`offsets`: the [start, end) characters of each token in the text.
"""

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bert_tf import commands, flagging
from bert_tf.errors import InputError
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizeOptions:
    """Flags of this tool."""

    vocab_file: str = flagging.option(flagging.REQUIRED, "The vocabulary, one token per line.")
    do_lower_case: bool = flagging.option(
        True, "Lower-case and strip accents: true for uncased vocabularies, false for cased ones."
    )
    form: str = flagging.option(
        "python",
        "Which form of the tokenizer; both give the same ids. 'python' also gives offsets; 'graph' "
        "makes training data and is part of exported models.",
        choices=("python", "graph"),
    )


def main(options: TokenizeOptions) -> None:
    """Reads standard input to its end and prints an object for each line."""
    vocabulary = vocab.from_file(options.vocab_file)
    try:
        vocab.check_casing(vocabulary, options.do_lower_case)
    except InputError as error:
        print(f"WARNING: {error}", file=sys.stderr)
    tokenizer = WordPieceTokenizer(vocabulary, options.do_lower_case)
    encode = _python_form(tokenizer) if options.form == "python" else _graph_form(tokenizer)
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    for text in _texts(sys.stdin.buffer):
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


def _texts(lines: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        try:
            text = json.loads(line)
        except ValueError as error:
            raise InputError(_not_a_string(number, error)) from None
        if not isinstance(text, str):
            raise InputError(_not_a_string(number, f"it is a {type(text).__name__}"))
        yield text


def _not_a_string(number: int, problem: object) -> str:
    return (
        f"Line {number} of standard input is not a JSON string ({problem}); every line must be "
        'one, for example "Hello".'
    )


if __name__ == "__main__":
    commands.run("tokenize")
