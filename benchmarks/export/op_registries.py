"""Makes export/images/operations.json.gz: what each TensorFlow Serving image registers.

    python -m benchmarks.export.op_registries --work_dir=environments

Makes an environment with the TensorFlow of each image in turn, reads its operations and CPU
kernels, and removes it again. Downloads about 250 MB for each. The operations of TensorFlow Text
are those of the version that the image is built with, and of them those of its target `ops_lib`,
which the server links: without trimmer_ops and utf8_binarize in 2.12.1 (tensorflow_text/BUILD).

That the registry of an image is that of the wheel of its version is assumed, not measured. Images
also have the operations of TensorFlow Decision Forests, which are not in the table.
"""

import dataclasses
import gzip
import json
import pathlib

from benchmarks import child_process
from benchmarks.export import environments
from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
CHILD = ROOT / "benchmarks/export/registered_operations.py"
TABLE = ROOT / "export/images/operations.json.gz"
# Libraries of the wheel that `ops_lib` of that version of TensorFlow Text lacks.
NOT_LINKED = {"2.12.1": ("trimmer_ops", "utf8_binarize_op"), "2.20.0": ()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    work_dir: str = option(
        REQUIRED, "For environments, and for what is read from each.", is_path=True
    )
    images: str | None = option(None, "Images to read, comma-separated; none: all.")
    keep: bool = option(False, "Keep the environments.")


def main(options: Options) -> None:
    for release in environments.chosen(options.images):
        with environments.environment(release, options.work_dir, options.keep) as python:
            read(release, python, options.work_dir)
    registries = {}
    for release in environments.RELEASES:
        path = registry_file(release, options.work_dir)
        if not path.exists():
            raise InputError(f"{path} is not there yet: add {release.image} to --images.")
        registries[release] = json.loads(path.read_text(encoding="utf-8"))
    content = json.dumps(table(registries), separators=(",", ":"))
    # Without a time, so that the same registries make the same bytes.
    TABLE.write_bytes(gzip.compress(content.encode("utf-8"), mtime=0))
    print(f"{TABLE}: {TABLE.stat().st_size} bytes of {len(content)}")


def registry_file(release: environments.Release, work_dir: str) -> pathlib.Path:
    return pathlib.Path(work_dir, f"registry-{release.image}.json")


def read(release: environments.Release, python: str, work_dir: str) -> None:
    """Writes what an environment registers."""
    # Its libraries load into the TensorFlow of the same version only.
    is_same = release.tensorflow_text == release.text_of_image
    text = ["text", *NOT_LINKED[release.text_of_image]] if is_same else []
    path = registry_file(release, work_dir)
    child_process.run([python, str(CHILD), str(path), *text], cwd=work_dir)
    found = json.loads(path.read_text(encoding="utf-8"))
    print(f"{release.image}: {len(found['operations'])} operations", flush=True)


def table(registries: dict[environments.Release, dict]) -> dict:
    """What `export.images.table` reads: of each operation, the definitions that differ."""
    text = {
        release.tensorflow_text: of_text(registry)
        for release, registry in registries.items()
        if release.tensorflow_text == release.text_of_image
    }
    images, operations, kernels = {}, {}, {}
    for release, registry in registries.items():
        images[release.image] = {
            "tensorflow": registry["tensorflow"],
            "tensorflow_text": release.text_of_image,
            "graph_version": registry["graph_version"],
        }
        core = {n: d for n, d in registry["operations"].items() if not d.get("is_text")}
        changes(operations, release.image, core | text[release.text_of_image])
        of_core = {n: kernel for n, kernel in registry["kernels"].items() if n in core}
        changes(kernels, release.image, of_core)
    tables = {"operations": operations, "kernels": kernels}
    sorted_tables = {name: dict(sorted(each.items())) for name, each in tables.items()}
    return {"images": images} | sorted_tables


def of_text(registry: dict) -> dict:
    """The definitions of the operations of TensorFlow Text."""
    return {n: d for n, d in registry["operations"].items() if d.get("is_text")}


def changes(history: dict[str, dict], image: str, found: dict) -> None:
    """Adds what is found in an image where it differs from what the image before had.

    Args:
      history: by name, what was found in the first image that had it so; None for nothing.
    """
    for name in history.keys() | found.keys():
        known = history.get(name, {})
        latest = list(known.values())[-1] if known else None
        if found.get(name) != latest:
            history.setdefault(name, {})[image] = found.get(name)


if __name__ == "__main__":
    flagging.run(main, Options)
