"""Repositories of Hugging Face: config.json, a vocabulary and safetensors, never a pickle."""

import json
import os
import re

from huggingface_hub import HfApi, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from huggingface_hub.hf_api import ModelInfo, RepoSibling
from huggingface_hub.utils import build_hf_headers, validate_repo_id

from bert_tf import config
from bert_tf.checkpoints import architectures
from bert_tf.checkpoints.formats.base import CONVERSION_FILE, read_json
from bert_tf.checkpoints.formats.hugging_face import CONFIG_FILE
from bert_tf.checkpoints.formats.safetensors_files import INDEX, SINGLE
from bert_tf.checkpoints.hub import cache, preset_table
from bert_tf.checkpoints.hub.download import Source, download, repeated
from bert_tf.checkpoints.hub.preset_table import Preset
from bert_tf.checkpoints.model_directory import VOCAB_FILE
from bert_tf.errors import InputError

_TOKENIZER = "tokenizer.json"  # holds the vocabulary too
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
# Read if they are there: casing, and what our own conversions write in addition.
_OPTIONAL = ("tokenizer_config.json", "added_tokens.json", CONVERSION_FILE, "pooler.safetensors")
_TIMEOUT = 60.0  # seconds, for the listing

TITLE = "Hugging Face"
FILES = f"{CONFIG_FILE}, {SINGLE} (or {INDEX} and its shards) and {VOCAB_FILE} (or {_TOKENIZER})"


def complete(directory: str) -> tuple[str, ...]:
    """Names of a model's files in `directory`, or () if one is missing."""
    available = {entry.name for entry in os.scandir(directory) if entry.is_file()}
    try:
        with open(os.path.join(directory, INDEX), encoding="utf-8") as file:
            shards = set(json.load(file)["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        shards = set()
    names = _wanted(available, shards)
    return names if available.issuperset(names) else ()


def _wanted(available: set[str], shards: set[str]) -> tuple[str, ...]:
    """The files that are read of a model with these files and shards, small ones first."""
    vocabulary = VOCAB_FILE if VOCAB_FILE in available else _TOKENIZER
    is_sharded = shards and SINGLE not in available
    weights = (INDEX, *sorted(shards)) if is_sharded else (SINGLE,)
    return (CONFIG_FILE, vocabulary, *(name for name in _OPTIONAL if name in available), *weights)


def fetch(preset: Preset, directory: str) -> tuple[dict[str, str], dict[str, str]]:
    """Brings the model's files into `directory`, where an earlier call may have left some.

    Returns:
      (what to record, sha256 by file).
    """
    try:
        validate_repo_id(preset.location)
    except HFValidationError as error:
        raise InputError(f"{preset.name} is not a possible name: {error}") from None
    snapshot = _snapshot(preset)
    if snapshot and (sha256s := _link(snapshot, complete(snapshot), directory, preset.sha256s)):
        return {"url": snapshot, "commit": os.path.basename(snapshot)}, sha256s
    listing = _listing(preset)
    sha256s = {}
    for name, source in _sources(preset, listing).items():
        sha256s[name] = download(source, os.path.join(directory, name))
        if name == CONFIG_FILE:  # refuses another architecture before its weights are fetched
            path = os.path.join(directory, name)
            architectures.check_model_type(read_json(path).get("model_type"), path)
            config.from_file(path, CONFIG_FILE)
    return {"url": preset.address, "commit": str(listing.sha)}, sha256s


def _snapshot(preset: Preset) -> str | None:
    """The directory of the revision in the cache of Hugging Face's own libraries."""
    older = [alias for alias, name in preset_table.ALIASES.items() if name == preset.location]
    for location in (preset.location, *older):
        path = try_to_load_from_cache(location, CONFIG_FILE, revision=preset.revision)
        if isinstance(path, str):
            return os.path.dirname(path)
    return None


def _link(
    snapshot: str, names: tuple[str, ...], directory: str, known: dict[str, str]
) -> dict[str, str] | None:
    """Links files of a snapshot into `directory`, if each is what its blob is named for.

    A file there is a link to blobs/DIGEST: the sha256 of a large file, git's name of a small one.

    Args:
      known: the sha256 that a file must have.

    Returns:
      sha256 by file, or None where a file is damaged or not the known one.
    """
    sha256s = {}
    for name in names:
        path = os.path.join(snapshot, name)
        digests = cache.digests(path, ("sha256", "git"))
        sha256s[name] = digests["sha256"]
        blob = os.path.basename(os.readlink(path)) if os.path.islink(path) else ""
        if blob not in digests.values() or known.get(name, sha256s[name]) != sha256s[name]:
            return None
    for name in names:
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            os.remove(path)
        os.symlink(os.path.realpath(os.path.join(snapshot, name)), path)
    return sha256s


def _listing(preset: Preset) -> ModelInfo:
    """What the host tells of a revision: its commit, and names, sizes and digests of its files."""
    api = HfApi(endpoint=preset_table.hugging_face_url())
    try:
        listing = repeated(
            lambda: api.model_info(
                preset.location, revision=preset.revision, files_metadata=True, timeout=_TIMEOUT
            ),
            preset.address,
        )
        if not re.fullmatch("[0-9a-f]{40}", listing.sha or ""):
            raise ValueError(f"sha {listing.sha!r}")
        if listing.siblings is None:
            raise ValueError("no files")
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{preset.address} has no readable listing of files: {error!r}.") from None
    return listing


def _sources(preset: Preset, listing: ModelInfo) -> dict[str, Source]:
    """Where to fetch what a repository's model needs, by file; small files first."""
    entries = {entry.rfilename: entry for entry in listing.siblings or ()}
    shards = set(filter(_SHARD.fullmatch, entries)) if INDEX in entries else set()
    names = _wanted(set(entries), shards)
    for name in names:
        if name not in entries:
            more = "Other formats are not fetched. " if name == SINGLE else ""
            listed = ", ".join(sorted(entries)[:20]) or "nothing"
            raise InputError(
                f"{preset.name} has no {name}. {more}Its repository lists: {listed}. A revision "
                "that has it can be named: OWNER/NAME@REVISION."
            )
    return {name: _source(preset, entries[name], str(listing.sha)) for name in names}


def _source(preset: Preset, entry: RepoSibling, commit: str) -> Source:
    name = entry.rfilename
    url = hf_hub_url(
        preset.location, name, revision=commit, endpoint=preset_table.hugging_face_url()
    )
    known = preset.sha256s.get(name)
    if known and entry.lfs and entry.lfs.sha256 != known:
        raise InputError(
            f"{preset.name}: {url} has the sha256 {entry.lfs.sha256}, {known} is known. Name the "
            f"revision to take it anyway: {preset.location}@{preset.revision}."
        )
    digests = {}
    if entry.lfs:
        digests["sha256"] = entry.lfs.sha256
    elif entry.blob_id:
        digests["git"] = entry.blob_id
    if known:
        digests["sha256"] = known
    return Source(url, entry.size, digests, build_hf_headers())
