"""The models that have a name: those of the released list, and their family on Hugging Face.

Names, addresses and sizes of Google's archives are those of the README of google-research/bert.
"""

import dataclasses

from bert_tf.checkpoints.hub.released_sha256 import SHA256

GOOGLE = "google"
HUGGING_FACE = "hugging_face"

_MAIN = "main"  # the branch that every repository has
_POSITIONS, _TYPES = 512, 2


@dataclasses.dataclass(frozen=True)
class Preset:
    """A model that can be fetched.

    Attributes:
      name: str, what a user calls it.
      host: `GOOGLE` or `HUGGING_FACE`.
      location: str, path of the archive without .zip, or owner/name of the repository.
      num_layers, hidden_size, vocab_size: int, or None where only its files tell them.
      do_lower_case: bool or None, likewise.
      revision: str, commit or branch of a repository; a commit stays what it is.
    """

    name: str
    host: str
    location: str
    num_layers: int | None = None
    hidden_size: int | None = None
    vocab_size: int | None = None
    do_lower_case: bool | None = None
    revision: str = _MAIN

    @property
    def sha256s(self):
        """Dict from file to sha256, of the files whose sha256 is known beforehand."""
        is_theirs = self.host == GOOGLE or self.revision == _REVISIONS.get(self.location, _MAIN)
        return SHA256.get(self.location, {}) if is_theirs else {}

    @property
    def num_bytes(self):
        """About what its weights take in float32, heads of pre-training included; None: unknown."""
        if self.num_layers is None:
            return None
        hidden, vocab = self.hidden_size, self.vocab_size
        layer = 12 * hidden**2 + 13 * hidden
        embeddings = (vocab + _POSITIONS + _TYPES + 2) * hidden
        heads = 2 * (hidden**2 + hidden) + 2 * hidden + vocab + 2 * hidden + 2
        return 4 * (embeddings + self.num_layers * layer + heads)


_UNCASED, _CASED, _CHINESE = 30522, 28996, 21128
_MULTI_CASED, _MULTI_UNCASED = 119547, 105879

# Named for their sizes: L layers, H hidden, and A heads of 64.
_MINIATURES = [(layers, hidden) for layers in range(2, 13, 2) for hidden in (128, 256, 512, 768)]


def _google(location, layers, hidden, vocab, do_lower_case, name=None):
    name = name or location.rpartition("/")[2]
    return Preset(name, GOOGLE, location, layers, hidden, vocab, do_lower_case)


def _sizes(layers, hidden):
    return f"L-{layers}_H-{hidden}_A-{hidden // 64}"


# Casing as released: the code there lower-cases Chinese, and Hugging Face's files do not.
_GOOGLE_ROWS = [
    _google("2018_10_18/uncased_L-12_H-768_A-12", 12, 768, _UNCASED, True),
    _google("2018_10_18/uncased_L-24_H-1024_A-16", 24, 1024, _UNCASED, True),
    _google("2018_10_18/cased_L-12_H-768_A-12", 12, 768, _CASED, False),
    _google("2018_10_18/cased_L-24_H-1024_A-16", 24, 1024, _CASED, False),
    _google("2019_05_30/wwm_uncased_L-24_H-1024_A-16", 24, 1024, _UNCASED, True),
    _google("2019_05_30/wwm_cased_L-24_H-1024_A-16", 24, 1024, _CASED, False),
    _google("2018_11_23/multi_cased_L-12_H-768_A-12", 12, 768, _MULTI_CASED, False),
    _google("2018_11_03/multilingual_L-12_H-768_A-12", 12, 768, _MULTI_UNCASED, True),
    _google("2018_11_03/chinese_L-12_H-768_A-12", 12, 768, _CHINESE, True),
] + [
    _google(
        location := f"2020_02_20/uncased_{_sizes(layers, hidden)}",
        layers,
        hidden,
        _UNCASED,
        True,
        # BERT-Base was trained anew with the small ones; its plain name is that of 2018.
        name=location if (layers, hidden) == (12, 768) else None,
    )
    for layers, hidden in _MINIATURES
]

# Commits whose files are the ones of `SHA256`, or that were the newest for years.
_REVISIONS = {
    "google-bert/bert-base-uncased": "86b5e0934494bd15c9632b12f734a8a67f723594",
    "google-bert/bert-large-uncased": "6da4b6a26a1877e173fca3225479512db81a5e5b",
    "google-bert/bert-base-cased": "cd5ef92a9fb2f889e972770a36d4ed042daf221e",
    "google-bert/bert-base-multilingual-cased": "3f076fdb1ab68d5b2880cb87a0886f315b8146f8",
    "google-bert/bert-base-chinese": "8f23c25b06e129b6c986331a13d8d025a92cf0ea",
    "sentence-transformers/all-MiniLM-L6-v2": "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
}


def _hugging_face(location, layers, hidden, vocab, do_lower_case):
    revision = _REVISIONS.get(location, _MAIN)
    return Preset(location, HUGGING_FACE, location, layers, hidden, vocab, do_lower_case, revision)


_LARGE = (24, 1024)
_BASE = (12, 768)

_HUGGING_FACE_ROWS = [
    _hugging_face("google-bert/bert-base-uncased", *_BASE, _UNCASED, True),
    _hugging_face("google-bert/bert-large-uncased", *_LARGE, _UNCASED, True),
    _hugging_face("google-bert/bert-base-cased", *_BASE, _CASED, False),
    _hugging_face("google-bert/bert-large-cased", *_LARGE, _CASED, False),
    _hugging_face("google-bert/bert-base-multilingual-uncased", *_BASE, _MULTI_UNCASED, True),
    _hugging_face("google-bert/bert-base-multilingual-cased", *_BASE, _MULTI_CASED, False),
    _hugging_face("google-bert/bert-base-chinese", *_BASE, _CHINESE, False),
    _hugging_face("google-bert/bert-base-german-cased", *_BASE, 30000, False),
    _hugging_face("google-bert/bert-base-german-dbmdz-cased", *_BASE, 31102, False),
    _hugging_face("google-bert/bert-base-german-dbmdz-uncased", *_BASE, 31102, True),
    _hugging_face("google-bert/bert-large-uncased-whole-word-masking", *_LARGE, _UNCASED, True),
    _hugging_face("google-bert/bert-large-cased-whole-word-masking", *_LARGE, _CASED, False),
    _hugging_face(
        "google-bert/bert-large-uncased-whole-word-masking-finetuned-squad",
        *_LARGE,
        _UNCASED,
        True,
    ),
    _hugging_face(
        "google-bert/bert-large-cased-whole-word-masking-finetuned-squad", *_LARGE, _CASED, False
    ),
    _hugging_face("google-bert/bert-base-cased-finetuned-mrpc", *_BASE, _CASED, False),
    _hugging_face("sentence-transformers/all-MiniLM-L6-v2", 6, 384, _UNCASED, True),
] + [
    _hugging_face(f"google/bert_uncased_{_sizes(*sizes)}", *sizes, _UNCASED, True)
    for sizes in _MINIATURES
]

PRESETS = {row.name: row for row in _GOOGLE_ROWS + _HUGGING_FACE_ROWS}

# The names that these repositories had before they got an owner.
ALIASES = {name.partition("/")[2]: name for name in PRESETS if name.startswith("google-bert/")}


def repository(location, revision=None):
    """`Preset` of any repository of Hugging Face.

    Args:
      location: str, owner/name.
      revision: str, or None for the one of the table, or else the main branch.
    """
    known = PRESETS.get(location)
    if known and revision in (None, known.revision):
        return known
    name = f"{location}@{revision}" if revision else location
    return Preset(name, HUGGING_FACE, location, revision=revision or _MAIN)
