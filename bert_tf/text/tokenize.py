"""Shows how texts are tokenized: one JSON string a line in, one JSON object a line out.

    echo '"Unaffable!"' | python -m bert_tf.text.tokenize --vocab_file=vocab.txt

The object holds `ids` and `tokens`, without special tokens, and in the Python form `offsets`,
the [start, end) characters of each token in the text.
"""

import dataclasses
import json
import re
import sys

from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizeOptions:
    """Flags of this tool."""

    vocab_file: str = flagging.option(flagging.REQUIRED, "The vocabulary, one token a line.")
    do_lower_case: bool = flagging.option(
        True, "Lower-case and strip accents: true for uncased vocabularies, false for cased ones."
    )
    form: str = flagging.option(
        "python",
        "Which of the two tokenizers, which give the same ids: 'python' has offsets; 'graph' is "
        "what training data and exported models are made with.",
        choices=("python", "graph"),
    )


def main(options):
    """Reads standard input to its end and prints an object for each line."""
    vocabulary = vocab.from_file(options.vocab_file)
    try:
        vocab.check_casing(vocabulary, options.do_lower_case)
    except InputError as error:
        print(f"WARNING: {error}", file=sys.stderr)
    python_form = WordPieceTokenizer(vocabulary, options.do_lower_case)
    encode = _python_form(python_form) if options.form == "python" else _graph_form(python_form)
    sys.stdout.reconfigure(encoding="utf-8")
    for text in _texts(sys.stdin.buffer):
        print(json.dumps(encode(text), ensure_ascii=False), flush=True)


def _python_form(tokenizer):
    def encode(text):
        ids, offsets = tokenizer.encode_with_offsets(text)
        return {"ids": ids, "tokens": tokenizer.tokens(ids), "offsets": offsets}

    return encode


def _graph_form(tokenizer):
    from bert_tf.text.graph import GraphTokenizer  # TensorFlow takes seconds to load

    graph = GraphTokenizer(tokenizer.vocabulary, tokenizer.do_lower_case)

    def encode(text):
        # JSON can hold half a surrogate pair and UTF-8 cannot; both are letters no token has.
        text = re.sub("[\ud800-\udfff]", "\U0010ffff", text)
        ids = graph([text.encode("utf-8")]).values.numpy().tolist()
        return {"ids": ids, "tokens": tokenizer.tokens(ids)}

    return encode


def _texts(lines):
    for number, line in enumerate(lines, start=1):
        try:
            text = json.loads(line)
        except ValueError as error:
            raise InputError(_not_a_string(number, error)) from None
        if not isinstance(text, str):
            raise InputError(_not_a_string(number, f"it is a {type(text).__name__}"))
        yield text


def _not_a_string(number, problem):
    return (
        f"Line {number} of standard input is not a JSON string ({problem}); every line must be "
        'one, such as "Hello".'
    )


if __name__ == "__main__":
    flagging.run(main, TokenizeOptions)
