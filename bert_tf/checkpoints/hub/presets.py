"""Models by name: what a name means, and the directory that it is kept in."""

import difflib
import os
import re
import shutil
from collections.abc import Callable
from typing import Protocol

from bert_tf.checkpoints.hub import cache, preset_table
from bert_tf.checkpoints.hub.preset_table import Preset
from bert_tf.errors import InputError, UnfinishedError

_WORD = r"[A-Za-z0-9][\w.-]*"
_REPOSITORY = re.compile(
    rf"(?P<location>(?:{_WORD}/)?{_WORD})(?:@(?P<revision>{_WORD}(?:/{_WORD})*))?"
)
# Endings of paths of files and checkpoints; nobody names a repository so.
_PATHS = (".ckpt", ".index", ".safetensors", ".bin", ".h5", ".keras", ".json", ".txt", ".zip")


class Host(Protocol):
    """What the modules `google` and `hugging_face` have."""

    TITLE: str
    FILES: str  # what a directory must hold, for messages
    complete: Callable[[str], tuple[str, ...]]
    fetch: Callable[[Preset, str], tuple[dict[str, str], dict[str, str]]]


def resolve(name_or_path: str | os.PathLike[str]) -> str:
    """The path that --init_checkpoint or --from means: itself, or where a named model is kept.

    What exists as a path is a path. A name that is not in the cache is fetched into it.

    Args:
      name_or_path: such as "bert-base-uncased", "uncased_L-2_H-128_A-2", "owner/name",
        "owner/name@revision" or "runs/mrpc".

    Returns:
      A path; one that does not exist is returned too, for its reader to say so.

    Raises:
      InputError: no such model, no network, or a damaged file; see the message.
    """
    text = os.fspath(name_or_path)
    return fetch(named(text)) if is_name(text) else text


def is_name(text: str) -> bool:
    """Whether it would be fetched, unlike a path."""
    if os.path.exists(text) or os.path.exists(f"{text}.index"):
        return False
    if text in preset_table.PRESETS:
        return True
    first = text.partition("/")[0]
    is_below = "/" in text and os.path.isdir(first)  # a slip in the path of a user's own file
    return not is_below and not text.endswith(_PATHS) and bool(_REPOSITORY.fullmatch(text))


def named(name: str) -> Preset:
    """The preset of a name.

    Raises:
      InputError: there is none; the message lists the nearest names.
    """
    if name in preset_table.PRESETS:
        return preset_table.PRESETS[name]
    match = _REPOSITORY.fullmatch(name)
    location = match["location"] if match else name
    location = preset_table.ALIASES.get(location, location)
    if not match or "/" not in location:
        raise InputError(
            f"{name!r} is neither a file nor a directory here, and no model has this name. "
            f"{_nearest(name)}"
        )
    return preset_table.repository(location, match["revision"])


def _nearest(name: str) -> str:
    names = [*preset_table.ALIASES, *preset_table.PRESETS]
    near = difflib.get_close_matches(name, names, n=5, cutoff=0.6)
    start = f"Nearest: {', '.join(near)}. " if near else ""
    return (
        f"{start}`python -m bert_tf.checkpoints.hub` lists all names; any owner/name of Hugging "
        "Face is a name too."
    )


def directory(preset: Preset) -> str:
    """Where a preset is kept, there or not."""
    name = preset.location
    if preset.host == preset_table.HUGGING_FACE:
        name += "@" + preset_table.quoted(preset.revision)
    return os.path.join(cache.root(), preset.host, *name.split("/"))


def fetch(preset: Preset) -> str:
    """Brings a preset into the cache, unless it is there, and checks it.

    Returns:
      Its directory.

    Raises:
      InputError: it cannot be fetched, or is damaged; see the message.
    """
    path = directory(preset)
    if _is_fetched(path):
        return path
    with cache.locked(path):
        if _is_fetched(path):  # another process has just done it
            return path
        if cache.is_recorded(path):  # without the files that it links to
            shutil.rmtree(path)
        if os.path.isdir(path) and os.listdir(path):
            _take_over(preset, path)
        else:
            _download(preset, path)
    return path


def _is_fetched(path: str) -> bool:
    """Whether the directory is complete; checks it then."""
    if not cache.is_recorded(path):
        return False
    links = [entry.path for entry in os.scandir(path) if entry.is_symlink()]
    if not all(map(os.path.exists, links)):  # the cache that they lead to has been emptied
        return False
    cache.check(path)
    return True


def _host(preset: Preset) -> Host:
    # Loaded here, so that huggingface_hub is loaded only where something is fetched.
    from bert_tf.checkpoints.hub import google, hugging_face

    return google if preset.host == preset_table.GOOGLE else hugging_face


def _take_over(preset: Preset, path: str) -> None:
    """Records files that somebody has put there by hand."""
    host = _host(preset)
    names = host.complete(path)
    if not names:
        raise InputError(
            f"{path} has files that were not fetched, and not all of {preset.name}: "
            f"{', '.join(sorted(os.listdir(path))[:12])}. Wanted: {host.FILES}. Put them there, "
            "or remove the directory; then it is fetched."
        )
    sha256s = cache.verified(path, names, preset.sha256s, preset.name)
    cache.record(path, {"url": "put there by hand"}, sha256s)


def _download(preset: Preset, path: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    host = _host(preset)
    partial = path + cache.PARTIAL
    os.makedirs(partial, exist_ok=True)
    try:
        origin, sha256s = host.fetch(preset, partial)
    except HfHubHTTPError as error:
        status = error.response.status_code
        raise InputError(
            f"{preset.name} is not a path here, and not a model of {host.TITLE}: "
            f"{error.response.url} was answered with status {status} "
            f"({error.server_message or 'no message'}). {_REFUSALS.get(status, '')} "
            f"{_nearest(preset.name)}"
        ) from None
    except ConnectionError as error:
        raise UnfinishedError(
            f"{preset.name} is not a path here, is not in the cache and cannot be fetched: {error} "
            f"Wanted: {host.FILES}, from {host.TITLE}, {preset.address}. The same command works "
            f"where there is a network; or put these files into {path} by hand. The environment "
            f"variable {cache.ROOT} names the cache, now {cache.root()}; one that was filled "
            "elsewhere can be copied."
        ) from None
    cache.record(partial, origin, sha256s)
    if os.path.isdir(path):  # empty, or it would have been taken over
        os.rmdir(path)
    os.rename(partial, path)


_REFUSALS = {
    401: "It is not there, or private: log in with `hf auth login` or set HF_TOKEN.",
    403: "Access to it is restricted: ask for it on its page, then log in with `hf auth login` "
    "or set HF_TOKEN.",
    404: "It is not there.",
}
