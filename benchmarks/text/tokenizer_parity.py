"""Both forms of the tokenizer against the released one: how many texts get other ids.

python -m benchmarks.text.tokenizer_parity --reference_tokenization_py=tokenization.py
    [--data_dir=../shared/data]

The reference is google-research/bert's tokenization.py, run as it is. For each vocabulary:
every assigned code point at the start, in the middle and at the end of a word; generated texts
of every kind (`tests/reference/text_samples.py`); byte strings that are mostly not UTF-8; and
lines of real text. One more vocabulary has every assigned character as a token, alone and as
suffix, so that no difference hides behind [UNK].
"""

import dataclasses
import json
import pathlib
import random
import tempfile

from benchmarks.text import tokenizer_data
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.reference import full_tokenizer, text_samples

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "tokenizer_parity.json"
CONTEXTS = {"start": "{}ab", "middle": "a{}b", "end": "ab{}"}
BATCH_SIZE = 5000

# Vocabulary, whether it is lower-cased; the first four as released.
EVERY_CHARACTER = "every character"
SETTINGS = (
    *(("uncased", True), ("cased", False), ("chinese", True), ("multi_cased", False)),
    *((EVERY_CHARACTER, True), (EVERY_CHARACTER, False)),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    reference_tokenization_py: str = option(REQUIRED, "tokenization.py of google-research/bert.")
    data_dir: str = option("../shared/data", "Holds vocab/ and pretrain/.")
    num_strings: int = option(60_013, "Generated texts for each vocabulary.")
    num_invalid: int = option(20_011, "Byte strings that are mostly not UTF-8.")
    num_lines: int = option(20_011, "Lines of English text.")
    seed: int = option(1, "Of the generated texts and the choice of lines.")


def texts_by_kind(options):
    rng = random.Random(options.seed)
    assigned = text_samples.assigned_characters()
    texts = {
        f"code points, {name} of word": [context.format(char) for char in assigned]
        for name, context in CONTEXTS.items()
    }
    texts["generated texts"] = list(text_samples.strings(rng, options.num_strings))
    texts["bytes not UTF-8"] = list(text_samples.invalid_utf8(rng, options.num_invalid))
    lines = tokenizer_data.english_lines(options.data_dir)
    texts["English lines"] = rng.sample(lines, options.num_lines)
    return texts


def write_every_character(path):
    """A vocabulary in which each assigned character is a token, but for white space."""
    characters = [char for char in text_samples.assigned_characters() if char.strip()]
    tokens = text_samples.spelling_vocabulary(characters)
    pathlib.Path(path).write_text("\n".join(tokens), encoding="utf-8", newline="\n")


def encoders(vocab_file, do_lower_case):
    """Form -> function from a list of texts to the list of their ids."""
    from bert_tf.text.graph import GraphTokenizer

    vocabulary = vocab.from_file(vocab_file)
    python = WordPieceTokenizer(vocabulary, do_lower_case)
    graph = GraphTokenizer(vocabulary, do_lower_case)
    ids = vocabulary.ids

    def oracle(text):
        return [ids[token] for token in full_tokenizer.tokenize(text, ids, do_lower_case)]

    return {
        "python": lambda texts: [python.encode(text) for text in texts],
        "python, offsets": lambda texts: [python.encode_with_offsets(text)[0] for text in texts],
        "graph": lambda texts: graph(texts).to_list(),
        "oracle of the tests": lambda texts: [oracle(text) for text in texts],
    }


def count_mismatches(texts, forms, reference):
    """Form -> number of texts whose ids are not the reference's."""
    counts = dict.fromkeys(forms, 0)
    for first in range(0, len(texts), BATCH_SIZE):
        batch = texts[first : first + BATCH_SIZE]
        expected = [reference(text) for text in batch]
        for form, encode in forms.items():
            pairs = zip(encode(batch), expected, strict=True)
            counts[form] += sum(got != wanted for got, wanted in pairs)
    return counts


def compare(options, name, do_lower_case, texts):
    """One row for each kind of text."""
    with tempfile.TemporaryDirectory() as directory:
        if name == EVERY_CHARACTER:
            vocab_file = f"{directory}/vocab.txt"
            write_every_character(vocab_file)
        else:
            vocab_file = tokenizer_data.vocab_file(options.data_dir, name)
        forms = encoders(vocab_file, do_lower_case)
        reference = tokenizer_data.released_tokenizer(
            options.reference_tokenization_py, vocab_file, do_lower_case
        )
    for kind, of_kind in texts.items():
        row = {"vocabulary": name, "do_lower_case": do_lower_case, "texts": kind, "n": len(of_kind)}
        yield row | {"mismatches": count_mismatches(of_kind, forms, reference)}


def main(options):
    texts = texts_by_kind(options)
    rows = []
    print(f"{'vocabulary':16s} {'lower':6s} {'texts':27s} {'n':>8s}  mismatches")
    for name, do_lower_case in SETTINGS:
        for row in compare(options, name, do_lower_case, texts):
            rows.append(row)
            counts = ", ".join(f"{form} {count}" for form, count in row["mismatches"].items())
            setting = f"{name:16s} {str(do_lower_case).lower():6s}"
            print(f"{setting} {row['texts']:27s} {row['n']:8d}  {counts}", flush=True)
    total = {"n": sum(row["n"] for row in rows)}
    total["mismatches"] = sum(sum(row["mismatches"].values()) for row in rows)
    results = tokenizer_data.conditions(options) | {"total": total, "rows": rows}
    files.write_text(RESULTS, json.dumps(results, indent=1) + "\n")
    print(f"{total['mismatches']} mismatches in {total['n']} texts")


if __name__ == "__main__":
    flagging.run(main, Options)
