"""Models by name: what a name stands for, where it is fetched from, and where it is kept.

python -m bert_tf.checkpoints.hub.presets                      # every name, and what is here
python -m bert_tf.checkpoints.hub.presets bert-base-uncased    # fetches it and prints its directory
python -m bert_tf.checkpoints.hub.presets --verify             # computes every sha256 anew
"""

import dataclasses
import difflib
import os
import re
import shutil
import urllib.parse

from bert_tf import commands, flagging
from bert_tf.checkpoints.hub import cache, download, preset_table
from bert_tf.checkpoints.hub.hosts import HOSTS, verified
from bert_tf.errors import InputError

_WORD = r"[A-Za-z0-9][\w.-]*"
_REPOSITORY = re.compile(
    rf"(?P<location>(?:{_WORD}/)?{_WORD})(?:@(?P<revision>{_WORD}(?:/{_WORD})*))?"
)
# Endings of a file's or checkpoint's path; nobody calls a repository so.
_PATHS = (".ckpt", ".index", ".safetensors", ".bin", ".h5", ".keras", ".json", ".txt", ".zip")


def resolve(name_or_path):
    """The path that --init_checkpoint or --from means: itself, or where a named model is kept.

    What exists as a path is a path. A name that is not in the cache is fetched into it.

    Args:
      name_or_path: str, e.g. "bert-base-uncased", "uncased_L-2_H-128_A-2", "owner/name",
        "owner/name@revision" or "runs/mrpc".

    Returns:
      str, a path; one that does not exist is given back for its reader to say so.

    Raises:
      InputError: no such model, no network, or a damaged file; see the message.
    """
    text = os.fspath(name_or_path)
    return fetch(named(text)) if is_name(text) else text


def is_name(text):
    """Whether it would be fetched, unlike a path."""
    if os.path.exists(text) or os.path.exists(f"{text}.index"):
        return False
    if text in preset_table.PRESETS:
        return True
    first = text.partition("/")[0]
    is_below = "/" in text and os.path.isdir(first)  # a slip in a path of one's own
    return not is_below and not text.endswith(_PATHS) and bool(_REPOSITORY.fullmatch(text))


def named(name):
    """The `Preset` of a name.

    Raises:
      InputError: it is none; the message lists the nearest ones.
    """
    if name in preset_table.PRESETS:
        return preset_table.PRESETS[name]
    match = _REPOSITORY.fullmatch(name)
    location, revision = match["location"], match["revision"]
    location = preset_table.ALIASES.get(location, location)
    if "/" not in location:
        raise InputError(
            f"{name} is no file or directory here, and no model has this name. {_nearest(name)}"
        )
    return preset_table.repository(location, revision)


def _nearest(name):
    names = [*preset_table.ALIASES, *preset_table.PRESETS]
    near = difflib.get_close_matches(name, names, n=5, cutoff=0.6)
    start = f"Nearest: {', '.join(near)}. " if near else ""
    return (
        f"{start}`python -m bert_tf.checkpoints.hub.presets` lists all names; any owner/name of "
        "Hugging Face is one too."
    )


def directory(preset):
    """Where a preset is kept, there or not."""
    name = preset.location
    if preset.host == preset_table.HUGGING_FACE:
        name += "@" + urllib.parse.quote(preset.revision, safe="")
    return os.path.join(cache.root(), preset.host, *name.split("/"))


def fetch(preset):
    """Brings a preset into the cache, unless it is there, and checks it.

    Args:
      preset: `Preset`.

    Returns:
      str, its directory.

    Raises:
      InputError: it could not be brought, or is damaged; see the message.
    """
    path = directory(preset)
    if cache.is_recorded(path) and not _lost_links(path):
        cache.check(path)
        return path
    with cache.locked(path):
        if cache.is_recorded(path):
            if not _lost_links(path):  # another process has just fetched it
                cache.check(path)
                return path
            shutil.rmtree(path)
        if os.path.isdir(path) and os.listdir(path):
            return _take_over(preset, path)
        partial = path + cache.PARTIAL
        os.makedirs(partial, exist_ok=True)
        try:
            origin, sha256s = HOSTS[preset.host].fetch(preset, partial)
        except (download.UnreachableError, download.RefusedError) as error:
            raise type(error)(*_explained(preset, path, error)) from None
        cache.record(partial, origin, sha256s)
        if os.path.isdir(path):  # empty, or it would have been taken over
            os.rmdir(path)
        os.rename(partial, path)
    return path


def _lost_links(path):
    """Whether files linked from another cache have been removed there."""
    links = [entry.path for entry in os.scandir(path) if entry.is_symlink()]
    return any(not os.path.exists(link) for link in links)


def _take_over(preset, path):
    """Records files that somebody has put there by hand."""
    host = HOSTS[preset.host]
    names = host.held(path)
    if not names:
        raise InputError(
            f"{path} has files that were not fetched, and not all of {preset.name}: "
            f"{', '.join(sorted(os.listdir(path))[:12])}. Wanted: {host.files()}. Put them there, "
            "or remove the directory; then it is fetched."
        )
    cache.record(path, {"url": "put there by hand"}, verified(preset, path, names))
    return path


def _explained(preset, path, error):
    """Arguments of an error of the same class that says what to do."""
    host = HOSTS[preset.host]
    if isinstance(error, download.RefusedError):
        reason = {
            401: "It is not there, or private: give the environment variable HF_TOKEN.",
            403: "Access to it is restricted: ask for it on its page and give HF_TOKEN.",
            404: "It is not there.",
        }.get(error.status, "")
        message = f"{preset.name} is no path here, and none of {host.title}: {error} {reason}"
        return f"{message} {_nearest(preset.name)}", error.status
    return (
        f"{preset.name} is no path here, is not in the cache and cannot be fetched: {error} "
        f"Wanted: {host.files()}, from {host.title}, {host.address(preset)}. The same command "
        f"works where there is network; or put these files into {path} by hand. The environment "
        f"variable {cache.ROOT} names the cache, now {cache.root()}; one that was filled elsewhere "
        "can be copied.",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Flags; arguments are names to fetch."""

    verify: bool = flagging.option(
        False, "Compute the sha256 of every file anew, of the names given or of all that are here."
    )


def main(options, names):
    """See the module."""
    if not names and not options.verify:
        print(table())
    places = [fetch(named(name)) for name in names]
    for place in places or (cache.recorded() if options.verify else ()):
        if options.verify:
            cache.check(place, fully=True)
        print(f"{place}: every file is as it arrived." if options.verify else place, flush=True)


def table():
    """The text of the table of all names, and of what else is in the cache."""
    others = set(cache.recorded())
    short = {name: alias for alias, name in preset_table.ALIASES.items()}
    rows = [("name", "weights", "casing", "here", "where")]
    for preset in preset_table.PRESETS.values():
        place = directory(preset)
        is_here = place in others
        others.discard(place)
        rows.append(
            (
                short.get(preset.name, preset.name),
                f"{preset.num_bytes / 1e6:.0f} MB",
                "uncased" if preset.do_lower_case else "cased",
                "yes" if is_here else "",
                HOSTS[preset.host].address(preset),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([*lines, *sorted(others), "", f"Cache: {cache.root()} ({cache.ROOT})"])


if __name__ == "__main__":
    commands.run("presets")
