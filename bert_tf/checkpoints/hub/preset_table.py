"""The models that have a name: the released ones, and their family on Hugging Face.

Names, addresses and sizes of Google's archives are those of the README of google-research/bert.
"""

import dataclasses
import os
import re
import urllib.parse

from bert_tf.checkpoints.formats.safetensors_files import SINGLE
from bert_tf.checkpoints.model_directory import CONFIG_FILE, VOCAB_FILE, WEIGHTS_PREFIX
from bert_tf.errors import InputError

GOOGLE = "google"
HUGGING_FACE = "hugging_face"

INDEX_FILE = f"{WEIGHTS_PREFIX}.index"
VALUES_FILE = f"{WEIGHTS_PREFIX}.data-00000-of-00001"

_MAIN = "main"  # the branch that every repository has
_POSITIONS, _TYPES = 512, 2


@dataclasses.dataclass(frozen=True)
class Preset:
    """A model that can be fetched.

    Attributes:
      name: what a user calls it.
      host: `GOOGLE` or `HUGGING_FACE`.
      location: path of the archive without .zip, or owner/name of the repository.
      num_layers, hidden_size, vocab_size, do_lower_case: None where only its files tell them.
      revision: commit or branch of a repository; a commit always names the same files.
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
    def address(self) -> str:
        """The URL of the archive, or of the repository's page."""
        if self.host == GOOGLE:
            base = _base_url("BERT_TF_GOOGLE_URL", "https://storage.googleapis.com/bert_models")
            return f"{base}/{self.location}.zip"
        return f"{hugging_face_url()}/{self.location}/tree/{quoted(self.revision)}"

    @property
    def sha256s(self) -> dict[str, str]:
        """sha256 by file, of the files whose sha256 is known in advance."""
        is_known = self.host == GOOGLE or self.revision == _REVISIONS.get(self.location, _MAIN)
        return SHA256.get(self.location, {}) if is_known else {}

    @property
    def num_bytes(self) -> int | None:
        """About what its weights take in float32, pre-training heads included; None: unknown."""
        if self.num_layers is None or self.hidden_size is None or self.vocab_size is None:
            return None
        hidden, vocab = self.hidden_size, self.vocab_size
        layer = 12 * hidden**2 + 13 * hidden
        embeddings = (vocab + _POSITIONS + _TYPES + 2) * hidden
        heads = 2 * (hidden**2 + hidden) + 2 * hidden + vocab + 2 * hidden + 2
        return 4 * (embeddings + self.num_layers * layer + heads)


def hugging_face_url() -> str:
    """The address of Hugging Face, or of the mirror that HF_ENDPOINT names."""
    return _base_url("HF_ENDPOINT", "https://huggingface.co")


def _base_url(variable: str, default: str) -> str:
    base = (os.environ.get(variable) or default).rstrip("/")
    if not re.match("https?://.", base):
        raise InputError(f"The environment variable {variable}={base} must start with https://.")
    return base


def quoted(revision: str) -> str:
    """A revision as part of an address or of a file's name."""
    return urllib.parse.quote(revision, safe="")


_UNCASED, _CASED, _CHINESE = 30522, 28996, 21128
_MULTI_CASED, _MULTI_UNCASED = 119547, 105879

_LARGE = (24, 1024)  # layers, hidden size
_BASE = (12, 768)

# Named for their sizes: L layers, H hidden, and A heads of 64.
_MINIATURES = [(layers, hidden) for layers in range(2, 13, 2) for hidden in (128, 256, 512, 768)]


def _google(
    location: str, size: tuple[int, int], vocab: int, do_lower_case: bool, name: str | None = None
) -> Preset:
    name = name or location.rpartition("/")[2]
    return Preset(name, GOOGLE, location, *size, vocab, do_lower_case)


def _sizes(layers: int, hidden: int) -> str:
    return f"L-{layers}_H-{hidden}_A-{hidden // 64}"


# Casing as released: the code there lower-cases Chinese, and Hugging Face's files do not.
_GOOGLE_ROWS = [
    _google("2018_10_18/uncased_L-12_H-768_A-12", _BASE, _UNCASED, True),
    _google("2018_10_18/uncased_L-24_H-1024_A-16", _LARGE, _UNCASED, True),
    _google("2018_10_18/cased_L-12_H-768_A-12", _BASE, _CASED, False),
    _google("2018_10_18/cased_L-24_H-1024_A-16", _LARGE, _CASED, False),
    _google("2019_05_30/wwm_uncased_L-24_H-1024_A-16", _LARGE, _UNCASED, True),
    _google("2019_05_30/wwm_cased_L-24_H-1024_A-16", _LARGE, _CASED, False),
    _google("2018_11_23/multi_cased_L-12_H-768_A-12", _BASE, _MULTI_CASED, False),
    _google("2018_11_03/multilingual_L-12_H-768_A-12", _BASE, _MULTI_UNCASED, True),
    _google("2018_11_03/chinese_L-12_H-768_A-12", _BASE, _CHINESE, True),
] + [
    _google(
        location := f"2020_02_20/uncased_{_sizes(layers, hidden)}",
        (layers, hidden),
        _UNCASED,
        True,
        # BERT-Base was trained again with the small ones; its plain name is that of 2018.
        name=location if (layers, hidden) == (12, 768) else None,
    )
    for layers, hidden in _MINIATURES
]

# Commits whose files are those of `SHA256`, or that were the newest for years.
_REVISIONS = {
    "google-bert/bert-base-uncased": "86b5e0934494bd15c9632b12f734a8a67f723594",
    "google-bert/bert-large-uncased": "6da4b6a26a1877e173fca3225479512db81a5e5b",
    "google-bert/bert-base-cased": "cd5ef92a9fb2f889e972770a36d4ed042daf221e",
    "google-bert/bert-base-multilingual-cased": "3f076fdb1ab68d5b2880cb87a0886f315b8146f8",
    "google-bert/bert-base-chinese": "8f23c25b06e129b6c986331a13d8d025a92cf0ea",
    "sentence-transformers/all-MiniLM-L6-v2": "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
}


def _hugging_face(
    location: str, size: tuple[int, int], vocab: int, do_lower_case: bool | None = None
) -> Preset:
    revision = _REVISIONS.get(location, _MAIN)
    do_lower_case = "uncased" in location if do_lower_case is None else do_lower_case
    return Preset(location, HUGGING_FACE, location, *size, vocab, do_lower_case, revision)


_GOOGLE_BERT = [
    ("bert-base-uncased", _BASE, _UNCASED),
    ("bert-large-uncased", _LARGE, _UNCASED),
    ("bert-base-cased", _BASE, _CASED),
    ("bert-large-cased", _LARGE, _CASED),
    ("bert-base-multilingual-uncased", _BASE, _MULTI_UNCASED),
    ("bert-base-multilingual-cased", _BASE, _MULTI_CASED),
    ("bert-base-chinese", _BASE, _CHINESE),
    ("bert-base-german-cased", _BASE, 30000),
    ("bert-base-german-dbmdz-cased", _BASE, 31102),
    ("bert-base-german-dbmdz-uncased", _BASE, 31102),
    ("bert-large-uncased-whole-word-masking", _LARGE, _UNCASED),
    ("bert-large-cased-whole-word-masking", _LARGE, _CASED),
    ("bert-large-uncased-whole-word-masking-finetuned-squad", _LARGE, _UNCASED),
    ("bert-large-cased-whole-word-masking-finetuned-squad", _LARGE, _CASED),
    ("bert-base-cased-finetuned-mrpc", _BASE, _CASED),
]
_HUGGING_FACE_ROWS = [
    *(_hugging_face(f"google-bert/{name}", size, vocab) for name, size, vocab in _GOOGLE_BERT),
    _hugging_face("sentence-transformers/all-MiniLM-L6-v2", (6, 384), _UNCASED, True),
    *(
        _hugging_face(f"google/bert_uncased_{_sizes(*size)}", size, _UNCASED)
        for size in _MINIATURES
    ),
]

PRESETS = {row.name: row for row in _GOOGLE_ROWS + _HUGGING_FACE_ROWS}

# The names that these repositories had before they had an owner.
ALIASES = {name.partition("/")[2]: name for name in PRESETS if name.startswith("google-bert/")}


def repository(location: str, revision: str | None = None) -> Preset:
    """Any repository of Hugging Face.

    Args:
      location: owner/name.
      revision: None: that of the table, or else the main branch.
    """
    known = PRESETS.get(location)
    if known and revision in (None, known.revision):
        return known
    name = f"{location}@{revision}" if revision else location
    return Preset(name, HUGGING_FACE, location, revision=revision or _MAIN)


_UNCASED_VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_CASED_VOCABULARY = "eeaa9875b23b04b4c54ef759d03db9d1ba1554838f8fb26c5d96fa551df93d02"

# sha256 by location and file, where more than one public source names it; the others are not known.
# Google publishes none. Projects that have checked the seven archives of 2018 for years list them;
# vocabulary, index and configuration of the Chinese model were compared with those files too.
SHA256 = {
    "2018_10_18/uncased_L-12_H-768_A-12": {
        CONFIG_FILE: "7b4e5f53efbd058c67cda0aacfafb340113ea1b5797d9ce6ee411704ba21fcbc",
        VOCAB_FILE: _UNCASED_VOCABULARY,
        INDEX_FILE: "04c1323086e2f1c5b7c0759d8d3e484afbb0ab45f51793daab9f647113a0117b",
        VALUES_FILE: "58580dc5e0bf0ae0d2efd51d0e8272b2f808857f0a43a88aaf7549da6d7a8a84",
    },
    "2018_10_18/uncased_L-24_H-1024_A-16": {
        CONFIG_FILE: "bfa42236d269e2aeb3a6d30412a33d15dbe8ea597e2b01dc9518c63cc6efafcb",
        VOCAB_FILE: _UNCASED_VOCABULARY,
        INDEX_FILE: "68b52f2205ffc64dc627d1120cf399c1ef1cbc35ea5021d1afc889ffe2ce2093",
        VALUES_FILE: "bc6b3363e3be458c99ecf64b7f472d2b7c67534fd8f564c0556a678f90f4eea1",
    },
    "2018_10_18/cased_L-12_H-768_A-12": {
        CONFIG_FILE: "f11dfb757bea16339a33e1bf327b0aade6e57fd9c29dc6b84f7ddb20682f48bc",
        VOCAB_FILE: _CASED_VOCABULARY,
        INDEX_FILE: "517d6ef5c41fc2ca1f595276d6fccf5521810d57f5a74e32616151557790f7b1",
        VALUES_FILE: "734d5a1b68bf98d4e9cb6b6692725d00842a1937af73902e51776905d8f760ea",
    },
    "2018_10_18/cased_L-24_H-1024_A-16": {
        CONFIG_FILE: "7adb2125c8225da495656c982fd1c5f64ba8f20ad020838571a3f8a954c2df57",
        VOCAB_FILE: _CASED_VOCABULARY,
        INDEX_FILE: "ef42a53f577fbe07381f4161b13c7cab4f4fc3b167cec6a9ae382c53d18049cf",
        VALUES_FILE: "6ff33640f40d472f7a16af0c17b1179ca9dcc0373155fb05335b6a4dd1657ef0",
    },
    "2018_11_23/multi_cased_L-12_H-768_A-12": {
        CONFIG_FILE: "e76c3964bc14a8bb37a5530cdc802699d2f4a6fddfab0611e153aa2528f234f0",
        VOCAB_FILE: "fe0fda7c425b48c516fc8f160d594c8022a0808447475c1a7c6d6479763f310c",
        INDEX_FILE: "7d8509c2a62b4e300feb55f8e5f1eef41638f4998dd4d887736f42d4f6a34b37",
        VALUES_FILE: "55b8a2df41f69c60c5180e50a7c31b7cdf6238909390c4ddf05fbc0d37aa1ac5",
    },
    "2018_11_03/multilingual_L-12_H-768_A-12": {
        CONFIG_FILE: "49063bb061390211d2fdd108cada1ed86faa5f90b80c8f6fdddf406afa4c4624",
        VOCAB_FILE: "87b44292b452f6c05afa49b2e488e7eedf79ea4f4c39db6f2f4b37764228ef3f",
        INDEX_FILE: "87c372c1a3b1dc7effaaa9103c80a81b3cbab04c7933ced224eec3b8ad2cc8e7",
        VALUES_FILE: "3cd83912ebeb0efe2abf35c9f1d5a515d8e80295e61c49b75c8853f756658429",
    },
    "2018_11_03/chinese_L-12_H-768_A-12": {
        CONFIG_FILE: "7aaad0335058e2640bcb2c2e9a932b1cd9da200c46ea7b8957d54431f201c015",
        VOCAB_FILE: "45bbac6b341c319adc98a532532882e91a9cefc0329aa57bac9ae761c27b291c",
        INDEX_FILE: "46315546e05ce62327b3e2cd1bed22836adcb2ff29735ec87721396edb21b82e",
        VALUES_FILE: "756699356b78ad0ef1ca9ba6528297bcb3dd1aef5feadd31f4775d7c7fc989ba",
    },
    "google-bert/bert-base-uncased": {
        SINGLE: "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
        VOCAB_FILE: _UNCASED_VOCABULARY,
    },
    "google-bert/bert-base-chinese": {
        SINGLE: "3404a1ffd8da507042e8161013ba2a4fc49858b4e3f8fbf5ce5724f94883aec3",
    },
    "sentence-transformers/all-MiniLM-L6-v2": {
        SINGLE: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        VOCAB_FILE: _UNCASED_VOCABULARY,
    },
}
