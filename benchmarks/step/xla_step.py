"""The real updates of BERT as XLA sees them: static, all on the device, and how large.

    python -m benchmarks.step.xla_step [--tpu_python=PYTHON] [--tpu_kernels=PYTHON]

Each case runs in a process of its own. It builds `training.update.Update` as `run_pretraining.py
--jit_compile` does, or run_classifier.py for a classification, tagging or choices; has TensorFlow
lower it to HLO and XLA compile it for this CPU, and makes one update. The HLO may hold no dynamic
shape and nothing that leaves the device. In pre-training the FLOPs of its matrix products are
compared with those that `training.plan.flops` counts.

Two things need Google's libraries for TPUs, but no TPU:
- `--tpu_python`, an interpreter with jax and libtpu: libtpu's compiler compiles the same HLO for
  one chip of a v5e.
- `--tpu_kernels`, an interpreter with tensorflow-tpu 2.20.0 and libtpu 0.0.14: what TensorFlow's
  build for TPUs registers as compilable there is compared with the operations of the update as
  `TPUStrategy` traces it.
"""

import collections
import dataclasses
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from bert_tf import files, flagging
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.flagging import option

RESULTS = pathlib.Path(__file__).parents[1] / "results"
_INSTRUCTION = re.compile(
    r"^ +(?:ROOT )?%?\S+ = (?P<shape>\(.*?\)|\S+) (?P<op>[a-z][a-z0-9-]*)\((?P<rest>.*)$", re.M
)
_DYNAMIC = {"set-dimension-size", "get-dimension-size", "dynamic-reshape"}
_ON_HOST = {"custom-call", "infeed", "outfeed", "send", "recv"}


@dataclasses.dataclass(frozen=True)
class Case:
    num_rows: int
    num_tokens: int
    num_predictions: int
    num_layers: int = 12
    hidden_size: int = 768
    dtype: str = "float32"
    optimizer: str = "adamw"
    lengths: tuple = ()  # shorter ones that a micro-batch may have
    num_micro_batches: int = 1
    recompute: bool = False
    in_loop: int = 0  # updates that one program makes; 0: one, as in training
    runs_here: bool = True  # compiled and run on this CPU too
    kind: str = "pretrain"  # of the model
    num_choices: int = 0  # of a row; 0: a row is one text

    @property
    def config(self):
        return BertConfig(
            vocab_size=30522,
            hidden_size=self.hidden_size,
            num_hidden_layers=self.num_layers,
            num_attention_heads=self.hidden_size // 64,
            intermediate_size=4 * self.hidden_size,
        )


CASES = (
    Case(8, 128, 20),
    Case(2, 512, 77),
    Case(8, 128, 20, dtype="bfloat16"),
    Case(2, 512, 77, dtype="bfloat16"),
    Case(32, 512, 77, dtype="bfloat16", recompute=True, runs_here=False),
    Case(32, 512, 77, dtype="bfloat16", runs_here=False),
    Case(16, 128, 20, dtype="bfloat16", num_micro_batches=2, runs_here=False),
    Case(
        8,
        128,
        20,
        num_layers=2,
        hidden_size=128,
        optimizer="lamb",
        lengths=(64,),
        num_micro_batches=2,
    ),
    Case(8, 128, 20, num_layers=2, hidden_size=128, in_loop=5),
    Case(32, 128, 20, num_layers=4, hidden_size=256),
    Case(32, 128, 20, num_layers=4, hidden_size=256, recompute=True),
    Case(32, 128, 0, dtype="bfloat16", kind="classify", runs_here=False),
    Case(32, 128, 0, dtype="bfloat16", kind="tag", lengths=(64,), runs_here=False),
    Case(8, 128, 0, dtype="bfloat16", kind="choice", num_choices=4, runs_here=False),
    Case(32, 128, 0, num_layers=2, hidden_size=128, kind="classify"),
    Case(32, 128, 0, num_layers=2, hidden_size=128, kind="tag", lengths=(64,)),
    Case(8, 128, 0, num_layers=2, hidden_size=128, kind="choice", num_choices=4),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    tpu_python: str | None = option(None, "Interpreter with jax and libtpu.")
    tpu_kernels: str | None = option(None, "Interpreter with tensorflow-tpu and its libtpu.")
    case: int | None = option(None, "Number of a case to run in this process.")
    directory: str | None = option(None, "Where that one leaves its HLO.")


def new_step(case):
    """(compiled callable, its arguments): one update, or several in a loop of the program's own."""
    import keras
    import tensorflow as tf

    from bert_tf.training.optimization import parameter_groups
    from bert_tf.training.optimization.optimizer import LAMB, AdamW
    from bert_tf.training.optimization.schedules import Schedule
    from bert_tf.training.step import recomputation
    from bert_tf.training.step.update import StaticShapes, Update

    keras.config.set_dtype_policy({"float32": "float32", "bfloat16": "mixed_bfloat16"}[case.dtype])
    model, objective = new_model(case)
    recomputation.set_up(model.encoder, recompute=case.recompute, is_compiled=True)
    optimizer = {"adamw": AdamW, "lamb": LAMB}[case.optimizer](
        [variable.value for variable in model.trainable_variables],
        Schedule(1e-4, 1000, 100),
        groups=parameter_groups.of(model),
        weight_decay_rate=0.01,
        bias_correction=True,
        max_grad_norm=1.0,
    )
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    update = Update(model, objective, optimizer, strategy, random_seed=3, jit_compile=True)
    new = new_batch if case.kind == "pretrain" else new_batch_of_rows
    batch = {name: tf.constant(values) for name, values in new(case).items()}
    specification = {name: tf.TensorSpec(x.shape, x.dtype) for name, x in batch.items()}
    lengths = (*case.lengths, case.num_tokens)
    step = update.with_static_shapes(StaticShapes(specification, lengths))
    first = tf.constant(1, tf.int64)
    return (in_loop(step, case.in_loop) if case.in_loop else step), (batch, first)


def new_model(case):
    """(model, objective) of a case."""
    from bert_tf.checkpoints import kinds, model_directory
    from bert_tf.modeling import models
    from bert_tf.training.step import objectives

    if case.kind == "pretrain":
        return models.PretrainingModel(case.config), objectives.PRETRAINING["mlm_nsp"]
    labels = ("x", "y") if kinds.KINDS[case.kind].is_labelled else ()
    metadata = model_directory.ModelMetadata(
        kind=case.kind,
        task="t",
        labels=labels,
        do_lower_case=True,
        max_seq_length=case.num_tokens,
    )
    task = kinds.load_class(kinds.KINDS[case.kind].task).of_model(metadata)
    return model_directory.new_model(case.config, metadata), task


def in_loop(step, count):
    """`count` updates with one batch, as one program."""
    import tensorflow as tf

    @tf.function(jit_compile=True)
    def loop(batch, first):
        def advance(done, _):
            return done + 1, step(batch, first + tf.cast(done, tf.int64))["loss"]

        return {"loss": tf.while_loop(lambda done, _: done < count, advance, (0, 0.0))[1]}

    return loop


def new_batch(case):
    import numpy as np

    from bert_tf import features

    rng = np.random.default_rng(3)
    shape = (case.num_micro_batches, case.num_rows // case.num_micro_batches)
    row_numbers = np.arange(case.num_rows, dtype=np.int32).reshape(shape)
    rows, slots = (*shape, case.num_tokens), (*shape, case.num_predictions)
    vocab_size = case.config.vocab_size
    return {
        "input_word_ids": rng.integers(0, vocab_size, rows, dtype=np.int32),
        "input_mask": np.ones(rows, np.int32),
        "input_type_ids": np.zeros(rows, np.int32),
        "masked_lm_positions": rng.integers(0, min(rows[-1], 64), slots, dtype=np.int32),
        "masked_lm_ids": rng.integers(0, vocab_size, slots, dtype=np.int32),
        "masked_lm_weights": np.ones(slots, np.float32),
        "next_sentence_labels": np.zeros(shape, np.int32),
        features.ROW_NUMBERS: row_numbers,
        features.LENGTH_BUCKET: np.full(case.num_micro_batches, len(case.lengths), np.int32),
    }


def new_batch_of_rows(case):
    """A batch of `StaticBatches`, which lacks a row."""
    import numpy as np

    from bert_tf import features
    from bert_tf.examples.rows import Rows
    from bert_tf.examples.static_batches import StaticBatches

    rng = np.random.default_rng(3)
    num_rows, num_sequences = case.num_rows - 1, case.num_choices or 1
    lengths = rng.integers(3, case.num_tokens + 1, num_rows * num_sequences)
    word_ids = [rng.integers(5, case.config.vocab_size, length).tolist() for length in lengths]
    labels = {features.LABEL_IDS.name: np.zeros(num_rows, np.int32)}
    if case.kind == "tag":
        of_tokens = [np.zeros(length, np.int32) for length in lengths]
        labels = {features.TOKEN_LABEL_IDS.name: of_tokens}
    group_sizes = np.full(num_rows, case.num_choices) if case.num_choices else None
    batches = StaticBatches(
        rows=Rows(word_ids, [[0] * len(ids) for ids in word_ids], labels, group_sizes),
        batch_size=case.num_rows,
        random_seed=3,
        num_replicas=1,
        num_micro_batches=case.num_micro_batches,
        lengths=(*case.lengths, case.num_tokens),
    )
    return next(batches.shares(range(1)))


def read(hlo):
    """What the text of a module holds."""
    found = list(_INSTRUCTION.finditer(hlo))
    ops = collections.Counter(each["op"] for each in found)
    return {
        "instructions": len(found),
        "dynamic": sum(each["op"] in _DYNAMIC or "<=" in each["shape"] for each in found),
        "on_host": sum(ops[name] for name in _ON_HOST),
        "products": ops["dot"],
        "conditionals": ops["conditional"],
        "loops": ops["while"],
        "product_flops": sum(product_flops(each) for each in found if each["op"] == "dot"),
    }


def product_flops(instruction):
    """2 m k n of a `dot`, from its result and what it sums over."""
    result = sizes(instruction["shape"])
    left = sizes(instruction["rest"])
    dims = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", instruction["rest"])[1]
    return 2 * math.prod(result) * math.prod(left[int(d)] for d in dims.split(",") if d)


def sizes(text):
    """The dimensions of the first array type in a text."""
    return [int(size) for size in re.search(r"\w+\[([\d,]*)\]", text)[1].split(",") if size]


def run_case(case, directory):
    """Lowers, checks, compiles and runs; prints one JSON object."""
    step, args = new_step(case)
    compiler = step.experimental_get_compiler_ir(*args)
    pathlib.Path(directory, "step.pb").write_bytes(compiler(stage="hlo_serialized"))
    found = read(compiler(stage="hlo"))
    if case.runs_here:
        start = time.process_time()
        found["loss"] = float(step(*args)["loss"])
        found["compile_and_run_cpu_seconds"] = round(time.process_time() - start, 1)
        found["memory_bytes"] = largest_assignment(directory)
    print(json.dumps(found))


def largest_assignment(directory):
    """Bytes that XLA has set aside for the largest program that it dumped: arguments included."""
    totals = [
        int(total)
        for path in pathlib.Path(directory).glob("*buffer-assignment.txt")
        for total in re.findall(r"Total bytes used: (\d+)", path.read_text())
    ]
    return max(totals, default=None)


def expected_flops(case):
    """FLOPs of the matrix products that an update should have, every length's counted."""
    from bert_tf.training.plan import flops

    total = 0
    for length in (*case.lengths, case.num_tokens):
        amount = flops.Amount.padded(case.num_rows, length, case.num_predictions)
        skipped = flops.skipped(case.config, amount)
        total += sum(flops.training(case.config, amount).values()) - 3 * skipped
        # Types are looked up by a product, which the model FLOPs leave out: forward, and the
        # gradient of the table.
        total += 2 * 2 * amount.tokens * case.config.type_vocab_size * case.config.hidden_size
        if case.recompute:
            total += flops.recomputed(case.config, amount) - skipped
    return total


def run_alone(number, directory):
    """`run_case` in a new process, whose XLA says how it lays out memory."""
    xla = f"--xla_dump_to={directory} --xla_dump_hlo_as_text"
    xla += " --xla_dump_hlo_module_re=.*(apply|loop).*"
    environment = os.environ | {
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "XLA_FLAGS": xla,
    }
    command = [sys.executable, "-m", "benchmarks.step.xla_step"]
    command += [f"--case={number}", f"--directory={directory}"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    if found.returncode:
        raise InputError(f"Case {number} failed:\n{found.stderr[-2000:]}")
    return json.loads(found.stdout.strip().splitlines()[-1])


def compiled_for_tpu(python, directory):
    """What libtpu's compiler says of the HLO in a directory."""
    script = pathlib.Path(__file__).with_name("xla_step_tpu.py")
    command = [python, str(script), os.path.join(directory, "step.pb")]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        raise InputError(f"The compiler for TPUs failed:\n{found.stderr[-2000:]}")
    return json.loads(found.stdout.strip().splitlines()[-1])


def without_tpu_kernel(python):
    """Operations of an update under TPUStrategy that TensorFlow's TPU build has no kernel for."""
    program = (
        "import json, tensorflow as tf\n"
        "from tensorflow.python.framework import kernels\n"
        "try: tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1))\n"
        "except tf.errors.OpError: pass\n"  # no TPU; but the kernels are registered by now
        "found = kernels.get_all_registered_kernels().kernel\n"
        "print(json.dumps([k.op for k in found if k.device_type == 'XLA_TPU_JIT']))\n"
    )
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "TPU_SKIP_MDS_QUERY": "1"}
    found = subprocess.run(
        [python, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    registered = set(json.loads(found.stdout.strip().splitlines()[-1]))
    from tests.reference import pretend_tpu, toy_pretraining

    given = set()  # recomputation adds operations and takes none away
    for optimizer in toy_pretraining.OPTIMIZERS:
        for objective in ("mlm_nsp", "ltr"):
            graph = pretend_tpu.update_graph(
                optimizer=optimizer, objective=objective, recompute=True
            )
            given |= {node.op for node in graph.on_tpu}
    given.remove("TPUReplicateMetadata")  # tells how many cores there are, and is gone by then
    without = sorted(given - registered)
    return {"given": sorted(given), "registered": len(registered), "without": without}


def main(options):
    if options.case is not None:
        run_case(CASES[options.case], options.directory)
        return
    summary = {"cases": []}
    print(f"{'kind':9}{'L':>3}{'H':>5}{'B':>4}{'T':>5} {'type':9}{'ops':>7}{'dynamic':>8}"
          f"{'host':>5}{'products':>9}{'FLOPs/wanted':>13}"
          f"{'CPU memory':>11}{'v5e memory':>11}")  # fmt: skip
    for number, case in enumerate(CASES):
        with tempfile.TemporaryDirectory() as directory:
            found = run_alone(number, directory)
            if options.tpu_python:
                found["tpu"] = compiled_for_tpu(options.tpu_python, directory)
        ratio = math.nan
        if case.kind == "pretrain":
            found["expected_flops"] = expected_flops(case)
            ratio = found["product_flops"] / found["expected_flops"]
        summary["cases"].append(dataclasses.asdict(case) | found)
        memory = found.get("memory_bytes") or math.nan
        on_tpu = found["tpu"]["memory_bytes"] if options.tpu_python else math.nan
        print(
            f"{case.kind:9}{case.num_layers:3}{case.hidden_size:5}{case.num_rows:4}"
            f"{case.num_tokens:5} {case.dtype:9}{found['instructions']:7}{found['dynamic']:8}"
            f"{found['on_host']:5}{found['products']:9}{ratio:13.4f}"
            f"{memory / 1e9:8.2f} GB{on_tpu / 1e9:8.2f} GB",
            flush=True,
        )
        write(summary)
        if found["dynamic"] or found["on_host"]:
            raise InputError(f"Case {number} has dynamic shapes or leaves the device.")
    if options.tpu_kernels:
        summary["tpu_kernels"] = without_tpu_kernel(options.tpu_kernels)
        print(f"Without a kernel for TPUs: {summary['tpu_kernels']['without'] or 'none'}")
    write(summary)


def write(summary):
    files.write_text(RESULTS / "xla_step.json", json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)
