"""How a model is fetched from each host: Google's archives, and repositories of Hugging Face."""

import json
import os
import re
import urllib.parse

from bert_tf import config as config_lib
from bert_tf.checkpoints import architectures
from bert_tf.checkpoints.formats.checkpoint import CONVERSION_FILE, describe, read_json
from bert_tf.checkpoints.hub import archive, download, hub_cache, preset_table
from bert_tf.checkpoints.hub.download import Source
from bert_tf.checkpoints.hub.released_sha256 import CONFIG, INDEX, VALUES, VOCABULARY
from bert_tf.checkpoints.state_dict import Contents
from bert_tf.errors import InputError

_OFFLINE = ("BERT_TF_OFFLINE", "HF_HUB_OFFLINE")  # environment variables
_ARCHIVE = "archive.zip"
_LISTING = "listing.json"
_CONFIG = "config.json"
_TOKENIZER = "tokenizer.json"  # holds the vocabulary too
_WEIGHTS = "model.safetensors"
_SHARDS_INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
# Read where they are there: casing, and what our own conversions write besides.
_OPTIONAL = ("tokenizer_config.json", "added_tokens.json", CONVERSION_FILE, "pooler.safetensors")


class Google:
    """The bucket that the released models are in, one zip archive each."""

    title = "Google's bucket bert_models"

    def address(self, preset):
        """Where the model is, for people too."""
        return f"{_base('BERT_TF_GOOGLE_URL', _GOOGLE_URL)}/{preset.location}.zip"

    def files(self):
        """What a directory must hold, for messages."""
        return f"{CONFIG}, {VOCABULARY}, {INDEX} and {VALUES}, which the archive holds"

    def held(self, directory):
        """Names of a whole model's files in `directory`, or () if one is missing."""
        names = (CONFIG, VOCABULARY, INDEX, VALUES)
        return names if _are_there(directory, names) else ()

    def fetch(self, preset, directory):
        """Brings the model's files into `directory`, where an earlier call may have left some.

        Returns:
          (dict to record, dict from file to sha256).
        """
        path = os.path.join(directory, _ARCHIVE)
        url = self.address(preset)
        if not os.path.isfile(path):
            require_online()
            download.download(Source(url), path)
        try:
            archive.extract(path, directory, (CONFIG, VOCABULARY, INDEX, VALUES))
            sha256s = verified(preset, directory, (CONFIG, VOCABULARY, INDEX, VALUES))
        except InputError:
            os.remove(path)
            raise
        os.remove(path)
        told = Contents(
            config=None,
            arrays={},
            kind="pretrain",
            source=preset.location,
            do_lower_case=preset.do_lower_case,
        )
        describe(directory, told)  # the archives say nothing of casing
        sha256s |= verified(preset, directory, (CONVERSION_FILE,))
        return {"url": url}, sha256s


class HuggingFace:
    """Repositories named owner/name, with config.json, safetensors and a vocabulary."""

    title = "Hugging Face"

    def address(self, preset):
        """Where the model is, for people too."""
        url = f"{_base('HF_ENDPOINT', _HUGGING_FACE_URL)}/{preset.location}"
        return f"{url}/tree/{_quoted(preset.revision)}"

    def files(self):
        """What a directory must hold, for messages."""
        weights = f"{_WEIGHTS} (or {_SHARDS_INDEX} and its shards)"
        return f"{_CONFIG}, {weights} and {VOCABULARY} (or {_TOKENIZER})"

    def held(self, directory):
        """Names of a whole model's files in `directory`, or () if one is missing."""
        weights = (_WEIGHTS,)
        if not _are_there(directory, weights):
            weights = (_SHARDS_INDEX, *_shards(directory))
        vocabulary = VOCABULARY if _are_there(directory, (VOCABULARY,)) else _TOKENIZER
        names = (_CONFIG, vocabulary, *weights)
        if not _are_there(directory, names):
            return ()
        return (*names, *(name for name in _OPTIONAL if _are_there(directory, (name,))))

    def fetch(self, preset, directory):
        """Brings the model's files into `directory`, where an earlier call may have left some.

        Returns:
          (dict to record, dict from file to sha256).
        """
        if found := hub_cache.snapshot(preset):
            names = self.held(found)
            sha256s = names and hub_cache.link(found, names, directory, preset.sha256s)
            if sha256s:
                return {"url": found, "commit": os.path.basename(found)}, sha256s
        require_online()
        listing = self._listing(preset, directory)
        sources = _sources(preset, listing, _base("HF_ENDPOINT", _HUGGING_FACE_URL))
        sha256s = {}
        for name, source in sources.items():  # the small ones first
            sha256s[name] = download.download(source, os.path.join(directory, name))
            if name == _CONFIG:  # another architecture is refused before its weights come
                _check_config(os.path.join(directory, name))
        return {"url": self.address(preset), "commit": listing["sha"]}, sha256s

    def _listing(self, preset, directory):
        """What the host tells of a revision's files: names, sizes and digests."""
        base = _base("HF_ENDPOINT", _HUGGING_FACE_URL)
        url = f"{base}/api/models/{preset.location}/revision/{_quoted(preset.revision)}?blobs=true"
        path = os.path.join(directory, _LISTING)
        for name in (path, f"{path}.part"):  # it may have changed
            if os.path.exists(name):
                os.remove(name)
        download.download(Source(url, token=os.environ.get("HF_TOKEN")), path)
        try:
            with open(path, encoding="utf-8") as file:
                listing = json.load(file)
            listing = {"sha": listing["sha"], "siblings": listing["siblings"]}
            if not re.fullmatch("[0-9a-f]{40}", listing["sha"]):
                raise ValueError(f"sha {listing['sha']!r}")
            [entry["rfilename"] for entry in listing["siblings"]]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{url} was answered with no listing of files: {error!r}.") from None
        os.remove(path)
        return listing


HOSTS = {preset_table.GOOGLE: Google(), preset_table.HUGGING_FACE: HuggingFace()}

_GOOGLE_URL = "https://storage.googleapis.com/bert_models"
_HUGGING_FACE_URL = "https://huggingface.co"


def verified(preset, directory, names):
    """sha256 of files, which must be those that are known beforehand.

    Returns:
      dict from name to sha256.

    Raises:
      InputError: one is another.
    """
    sha256s = {}
    for name in names:
        path = os.path.join(directory, name)
        sha256s[name] = download.digests(path, {"sha256"})["sha256"]
        wanted = preset.sha256s.get(name, sha256s[name])
        if sha256s[name] != wanted:
            raise InputError(
                f"{name} of {preset.name} is not the known one: its sha256 is {sha256s[name]}, "
                f"{wanted} was wanted."
            )
    return sha256s


def require_online():
    """Raises `download.UnreachableError` where the environment forbids to use the network."""
    for name in _OFFLINE:
        if os.environ.get(name, "").lower() in ("1", "true", "yes", "on"):
            raise download.UnreachableError(
                f"The environment variable {name} forbids to use the network."
            )


def _base(variable, default):
    base = (os.environ.get(variable) or default).rstrip("/")
    if not re.match("https?://.", base):
        raise InputError(f"The environment variable {variable}={base} must start with https://.")
    return base


def _quoted(revision):
    return urllib.parse.quote(revision, safe="")


def _are_there(directory, names):
    return all(os.path.isfile(os.path.join(directory, name)) for name in names)


def _shards(directory):
    """Names of the shards that the index in `directory` lists; none if there is no index."""
    try:
        with open(os.path.join(directory, _SHARDS_INDEX), encoding="utf-8") as file:
            return sorted(set(json.load(file)["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _check_config(path):
    architectures.check_model_type(read_json(path).get("model_type"), path)
    config_lib.from_file(path, _CONFIG)


def _sources(preset, listing, base):
    """Dict from file to `Source`, small files first, of what a repository's model needs."""
    entries = {entry["rfilename"]: entry for entry in listing["siblings"]}
    weights = (_WEIGHTS,) if _WEIGHTS in entries else ()
    if not weights and _SHARDS_INDEX in entries:
        weights = (_SHARDS_INDEX, *sorted(filter(_SHARD.fullmatch, entries)))
    vocabulary = VOCABULARY if VOCABULARY in entries else _TOKENIZER
    for name in (_CONFIG, vocabulary):
        if name not in entries:
            raise InputError(f"{preset.name} has no {name}. {_lists(entries)}")
    if not weights:
        raise InputError(
            f"{preset.name} has no {_WEIGHTS}; other formats are not fetched. {_lists(entries)} "
            "A revision that has it can be named: OWNER/NAME@REVISION."
        )
    optional = (name for name in _OPTIONAL if name in entries)
    names = (_CONFIG, vocabulary, *optional, *weights)
    url = f"{base}/{preset.location}/resolve/{listing['sha']}"
    return {name: _source(preset, entries[name], f"{url}/{name}") for name in names}


def _source(preset, entry, url):
    name, large = entry["rfilename"], entry.get("lfs")
    digests = {"sha256": large["sha256"]} if large else {}
    if not large and entry.get("blobId"):
        digests = {"git": entry["blobId"]}
    known = preset.sha256s.get(name)
    if known and large and large["sha256"] != known:
        raise InputError(
            f"{preset.name}: {url} has the sha256 {large['sha256']}, {known} is known. Name the "
            f"revision to take it as it is: {preset.location}@{preset.revision}."
        )
    digests |= {"sha256": known} if known else {}
    return Source(url, entry.get("size"), digests, os.environ.get("HF_TOKEN"))


def _lists(entries):
    return f"Its repository lists: {', '.join(sorted(entries)[:20]) or 'nothing'}."
