"""The cache of Hugging Face's own libraries, read only: what is there is not fetched again.

Its layout: models--OWNER--NAME/refs/BRANCH holds a commit; snapshots/COMMIT/FILE is a link to
blobs/DIGEST, where the digest is the sha256 of a large file and git's name of a small one.
"""

import os

from bert_tf.checkpoints.hub import download, preset_table


def snapshot(preset):
    """Directory of the preset's revision in that cache, or None."""
    older = [alias for alias, name in preset_table.ALIASES.items() if name == preset.location]
    for location in (preset.location, *older):
        repository = os.path.join(_root(), "models--" + location.replace("/", "--"))
        reference = os.path.join(repository, "refs", preset.revision)
        commit = preset.revision
        if os.path.isfile(reference):
            with open(reference, encoding="utf-8") as file:
                commit = file.read().strip()
        directory = os.path.join(repository, "snapshots", commit)
        if commit and os.path.isdir(directory):
            return directory
    return None


def _root():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    home = os.environ.get("HF_HOME") or os.path.join(cache, "huggingface")
    return os.path.expanduser(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub"))


def link(found, names, directory, known):
    """Links files of a snapshot into `directory`, if each is what its blob is named for.

    Args:
      found: str, the snapshot.
      names: the files.
      directory: str.
      known: dict from file to the sha256 that it must have.

    Returns:
      dict from file to sha256, or None where a file is damaged or another.
    """
    targets = {name: os.path.realpath(os.path.join(found, name)) for name in names}
    sha256s = {}
    for name, target in targets.items():
        digests = download.digests(target, {"sha256", "git"})
        sha256s[name] = digests["sha256"]
        is_named = os.path.basename(target) in digests.values()
        if not is_named or known.get(name, sha256s[name]) != sha256s[name]:
            return None
    for name, target in targets.items():
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            os.remove(path)
        os.symlink(target, path)
    return sha256s
