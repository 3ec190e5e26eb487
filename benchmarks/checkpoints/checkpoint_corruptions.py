"""A table of damaged, hostile and foreign checkpoints, and what each was answered.

    python -m benchmarks.checkpoints.checkpoint_corruptions

Each is made from a sound checkpoint of prime sizes and given to the conversion. It must be
refused with one message, which is printed, or it is listed as read: then its arrays are compared
with those of the sound one.
"""

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import pickle
import shutil
import struct
import tempfile
import zipfile

import numpy as np
import safetensors.numpy

from bert_tf import files, flagging
from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.formats import safetensors_files
from bert_tf.checkpoints.formats.base import write_conversion
from bert_tf.checkpoints.opening import FORMATS
from bert_tf.errors import InputError
from bert_tf.flagging import option
from export import options as options_lib
from export.conversion import convert
from tests.checkpoints import samples

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "checkpoint_corruptions.json"
WEIGHTS = "model.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    width: int = option(150, "Characters of each message that are printed.")


class Bomb:
    """Writes a file when somebody unpickles it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def arrays(change):
    """A corruption: `change` alters the dict of arrays in model.safetensors."""

    def apply(folder):
        found = safetensors.numpy.load_file(folder / WEIGHTS)
        found = change(found) or found
        safetensors.numpy.save_file(found, folder / WEIGHTS, metadata={"format": "pt"})

    return apply


def values(name, **changes):
    """A corruption: other values in a JSON file."""

    def apply(folder):
        found = json.loads((folder / name).read_text()) | changes
        (folder / name).write_text(json.dumps(found))

    return apply


def text(name, content):
    """A corruption: a file with this content."""
    return lambda folder: (folder / name).write_text(content)


def cut(name, part):
    """A corruption: only the first part of a file is there."""

    def apply(folder):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: int(len(data) * part)])

    return apply


def gone(*names):
    """A corruption: files are missing."""
    return lambda folder: [(folder / name).unlink() for name in names]


def header(change):
    """A corruption: another header of model.safetensors, before the same data."""

    def apply(folder):
        data = (folder / WEIGHTS).read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        found = json.loads(data[8 : 8 + length])
        change(found)
        new = json.dumps(found).encode()
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(new)) + new + data[8 + length :])

    return apply


def pickled(name, protocol):
    """A corruption: a pickle under the name of the weights."""

    def apply(folder):
        data = pickle.dumps(Bomb(str(folder / "exploded")), 2 if protocol == "zip" else protocol)
        (folder / WEIGHTS).unlink()
        if protocol != "zip":
            (folder / name).write_bytes(data)
            return
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("archive/data.pkl", data)

    return apply


def sharded(change):
    """A corruption: the weights in shards; `change` alters the weight map and the folder."""

    def apply(folder):
        found = safetensors.numpy.load_file(folder / WEIGHTS)
        (folder / WEIGHTS).unlink()
        safetensors_files.write(found, str(folder), max_shard_bytes=20_000)
        path = folder / f"{WEIGHTS}.index.json"
        index = json.loads(path.read_text())
        change(index["weight_map"], folder)
        path.write_text(json.dumps(index))

    return apply


def renamed(prefix):
    """A corruption: the weights under another architecture's prefix, without a config."""

    def apply(folder):
        arrays(lambda a: {n.replace("bert.", f"{prefix}."): x for n, x in a.items()})(folder)
        (folder / "config.json").unlink()

    return apply


def flipped(name):
    """A corruption: one byte in the middle of a file is another."""

    def apply(folder):
        data = bytearray((folder / name).read_bytes())
        data[len(data) // 2] ^= 0xFF
        (folder / name).write_bytes(data)

    return apply


def _set(name, change):
    return arrays(lambda a: a.update({name: change(a[name])}))


QUERY = "bert.encoder.layer.0.attention.self.query.weight"
WORDS = "bert.embeddings.word_embeddings.weight"

HUGGING_FACE = {
    "weights cut to half": cut(WEIGHTS, 0.5),
    "weights cut in the header": cut(WEIGHTS, 0.01),
    "weights empty": cut(WEIGHTS, 0),
    "header: offsets beyond the file": header(lambda h: h[QUERY].update(data_offsets=[0, 10**9])),
    "header: offsets overlap": header(lambda h: h[QUERY].update(data_offsets=[0, 21 * 21 * 4])),
    "header: shape larger than bytes": header(lambda h: h[QUERY].update(shape=[21, 22])),
    "header: shape overflows": header(lambda h: h[QUERY].update(shape=[2**40, 2**40])),
    "header: unknown dtype": header(lambda h: h[QUERY].update(dtype="F31")),
    "header: length of exabytes": lambda f: (f / WEIGHTS).write_bytes(b"\xff" * 64),
    "pickle named model.safetensors": pickled(WEIGHTS, 2),
    "pickle of protocol 4": pickled(WEIGHTS, 4),
    "zip of a pickle named model.safetensors": pickled(WEIGHTS, "zip"),
    "pytorch_model.bin alone": pickled("pytorch_model.bin", "zip"),
    "shard missing": sharded(lambda m, f: (f / sorted(m.values())[0]).unlink()),
    "shard cut": sharded(lambda m, f: cut(sorted(m.values())[0], 0.5)(f)),
    "index names a file outside": sharded(lambda m, f: m.update({QUERY: "../secret.safetensors"})),
    "index names an absolute path": sharded(lambda m, f: m.update({QUERY: os.devnull})),
    "index lists a name no shard has": sharded(lambda m, f: m.update(x=m[QUERY])),
    "index leaves a name out": sharded(lambda m, f: m.pop(QUERY) and None),
    "RoBERTa by its config": values("config.json", model_type="roberta"),
    "DistilBERT by its config": values("config.json", model_type="distilbert"),
    "RoBERTa by its names": renamed("roberta"),
    "DistilBERT by its names": renamed("distilbert"),
    "ALBERT by its names": renamed("albert"),
    "ELECTRA by its names": renamed("electra"),
    "config: relative positions": values("config.json", position_embedding_type="relative_key"),
    "config: unknown activation": values("config.json", hidden_act="swish"),
    "config: unknown key": values("config.json", mystery=1),
    "config: vocab_size of another model": values("config.json", vocab_size=97),
    "config: fewer positions": values("config.json", max_position_embeddings=13),
    "config: fewer layers": values("config.json", num_hidden_layers=1),
    "config: more layers": values("config.json", num_hidden_layers=3),
    "config is no JSON": text("config.json", "{"),
    "config missing": gone("config.json"),
    "array missing": arrays(lambda a: a.pop(QUERY) is None or a),
    "array too many": arrays(lambda a: a.update({"adapter.weight": np.ones(3, np.float32)})),
    "weights of type int8": _set(QUERY, lambda x: x.astype(np.int8)),
    "weights of type int64": _set(QUERY, lambda x: x.astype(np.int64)),
    "decoder not tied": arrays(
        lambda a: a.update({"cls.predictions.decoder.weight": a[WORDS] + 1})
    ),
    "heads of two kinds": arrays(
        lambda a: a.update(
            {"qa_outputs.weight": a[WORDS][:2] + 0, "qa_outputs.bias": a[WORDS][0, :2]}
        )
    ),
    "vocabulary with more tokens": lambda f: samples.vocab_file(f, 103),
    "vocabulary of another model": text("vocab.txt", "the\nof\n"),
    "vocabulary with a token twice": lambda f: (f / "vocab.txt").write_text(
        (f / "vocab.txt").read_text() + "a\n"
    ),
    "vocabulary not UTF-8": lambda f: (f / "vocab.txt").write_bytes(b"[PAD]\n\xff\xfe\n"),
    "tokenizer_config is no JSON": text("tokenizer_config.json", "{"),
    "one byte of the weights is another": flipped(WEIGHTS),
}

DATA, INDEX = "bert_model.ckpt.data-00000-of-00001", "bert_model.ckpt.index"

TF1 = {
    "values missing": gone(DATA),
    "values cut to half": cut(DATA, 0.5),
    "values empty": cut(DATA, 0),
    "one byte of the values is another": flipped(DATA),
    "index cut to half": cut(INDEX, 0.5),
    "index empty": cut(INDEX, 0),
    "index missing": gone(INDEX),
    "one byte of the index is another": flipped(INDEX),
    "two checkpoints": lambda f: shutil.copy(f / INDEX, f / "model.ckpt-7.index"),
    "config missing": gone("bert_config.json"),
    "config of another size": values("bert_config.json", hidden_size=24),
    "conversion.json damaged": text("conversion.json", '{"kind": 3}'),
}


def every_file(folder):
    """Corruptions of a folder that need no knowledge of its format."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = str(path.relative_to(folder))
        if name == "conversion.json":
            continue
        found[f"{name} missing"] = gone(name)
        found[f"{name} cut to half"] = cut(name, 0.5)
        found[f"{name} empty"] = cut(name, 0)
    return found


def answer(folder, sound):
    """What the conversion says: (outcome, message)."""
    output = folder.parent / "out"
    shutil.rmtree(output, ignore_errors=True)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            convert.run(
                options_lib.Conversion(source=str(folder), target="tf1", output=str(output))
            )
    except InputError as error:
        outcome = "refused", " ".join(str(error).split())
    else:
        found, _ = reading.read(open_checkpoint(output))
        same = all(np.array_equal(x, found.arrays.get(p)) for p, x in sound.arrays.items())
        same = same and found.arrays.keys() == sound.arrays.keys()
        outcome = "read", "all weights as they were" if same else "other weights"
    if (folder / "exploded").exists():
        raise RuntimeError(f"A pickle in {folder} was run.")
    if outcome[0] == "refused" and output.exists():
        raise RuntimeError(f"{output} was written all the same.")
    return outcome[0], outcome[1].replace(str(folder.parent) + os.sep, "")


def main(options):
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for row in FORMATS:
            if not row.is_written:
                continue
            kind = "classify" if row.name == "keras_hub" else "pretrain"
            sound = samples.state_dict(kind, scratch / "given")
            source = scratch / f"sound-{row.name}"
            source.mkdir()
            row.write(sound, str(source))
            write_conversion(str(source), sound)
            known = {"huggingface": HUGGING_FACE, "tf1": TF1}.get(row.name)
            for name, apply in (known or every_file(source)).items():
                folder = scratch / "checkpoint"
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(source, folder)
                apply(folder)
                outcome, message = answer(folder, sound)
                rows.append(
                    {"format": row.name, "corruption": name, "outcome": outcome, "message": message}
                )
                print(f"{row.name:20}{name:54}{outcome}: {message[: options.width]}", flush=True)
    counts = {o: sum(r["outcome"] == o for r in rows) for o in ("refused", "read")}
    print(f"{len(rows)} corruptions: {counts}; no pickle was run, nothing was half written.")
    files.write_text(RESULTS, json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)
