"""State dicts of every kind with random arrays of prime sizes, for the tests of all formats."""

import pathlib

import numpy as np

from bert_tf.checkpoints import variables
from bert_tf.checkpoints.state_dict import StateDict
from tests.modeling import harness

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LABELS = tuple(f"label {index}" for index in range(harness.C))
LABELLED = ("classify", "multi_label", "tag")

# The first parts of the paths of each kind of model.
TOPS = {
    "encoder": (),
    "pretrain": ("masked_lm", "next_sentence"),
    "classify": ("classifier",),
    "multi_label": ("classifier",),
    "regress": ("classifier",),
    "span": ("span",),
    "tag": ("classifier",),
    "choice": ("classifier",),
}


def vocab_file(folder, num_tokens=harness.V):
    """Writes a vocab.txt of letters and numbered words; returns its path."""
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    tokens = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    tokens += [f"word{index}" for index in range(num_tokens - len(tokens))]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in tokens))
    return str(path)


def state_dict(kind, folder, without=(), config=None, seed=1):
    """`StateDict` of a kind.

    Args:
      kind: key of `kinds.KINDS`.
      folder: where its vocab.txt is written.
      without: starts of paths that it shall lack.
      config: `BertConfig`; none: that of the harness.
    """
    config = config or harness.config()
    num_outputs = harness.C if kind in LABELLED else 1
    rng = np.random.default_rng(seed)
    arrays = {
        path: rng.normal(size=shape).astype(np.float32)
        for path, shape in variables.shapes(config, num_outputs).items()
        if path.split("/")[0] in ("encoder", *TOPS[kind])
        and not path.startswith(tuple(without) or "-")
    }
    return StateDict(
        config=config,
        arrays=arrays,
        kind=kind,
        source="a sample",
        vocab_file=vocab_file(folder, config.vocab_size),
        do_lower_case=True,
        labels=LABELS if kind in LABELLED else (),
        num_texts=2 if "next_sentence/bias" in arrays else 1,
    )


def assert_equal_arrays(one, other):
    """Both have the same names, and under each the same bits."""
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.dtype == other[name].dtype == np.float32, name
        assert array.shape == other[name].shape, name
        assert array.tobytes() == other[name].tobytes(), name
