"""Pre-training on records of every form that they come in."""

import functools
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import options
from bert_tf.errors import InputError
from bert_tf.records import check as read_check
from bert_tf.records.read import global_batches
from bert_tf.text.vocab import Vocabulary
from bert_tf.training.monitoring.guards import DivergedError
from bert_tf.training.plan import hardware
from bert_tf.training.pretraining import pretrain
from bert_tf.training.step.feeding import DeviceBatches
from bert_tf.training.step.loop import Loop
from tests.reference import records
from tests.reference.pretraining_runs import (
    assert_close,
    copied_after,
    killed_after,
    lines,
    losses,
    on_replicas,
    run_options,
    weights,
    write_model,
)

ROOT = pathlib.Path(__file__).parents[3]
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
SIZES = {"T": 17, "P": 3}


@pytest.fixture
def bert(tmp_path):
    return write_model(tmp_path, TOKENS, 0.0)


def write_records(bert, name, sizes, **changes):
    values = [
        records.pretraining_values(
            [2, *range(5, 7 + number), 3, 8, 9, 3],
            [1, 2 + number // 2][: 1 + number % 2],
            [7, 11][: 1 + number % 2],
            type_ids=[0] * (4 + number) + [1] * 3,
            pair_label=number % 2,
            sizes=sizes,
        )
        for number in range(5)
    ]
    (bert / name).mkdir()
    path = records.write_file(bert / name / "a.tfrecord", values)
    if changes:
        lengths = {"max_seq_length": SIZES["T"], "max_predictions_per_seq": SIZES["P"]}
        records.enter([path], Vocabulary(TOKENS), **lengths | changes)
    return path


def results(bert, path, **changes):
    """eval_results.txt of a short run, as a dict of str."""
    values = {"bert_config_file": f"{bert}/bert_config.json", "output_dir": f"{path}.out"}
    values |= {"input_file": path, "max_seq_length": SIZES["T"], "do_train": True, "do_eval": True}
    values |= {"num_train_steps": 3, "num_warmup_steps": 0, "train_batch_size": 2}
    pretrain.run(options.PreTraining(**values | changes))
    with open(f"{path}.out/eval_results.txt", encoding="utf-8") as file:
        return dict(line.strip().split(" = ") for line in file)


def test_records_without_padding_train_the_same_model(bert):
    path = write_records(bert, "foreign", SIZES)
    foreign = results(bert, path)
    assert float(foreign["loss"]) > 0
    with pytest.raises(InputError, match="Give --max_predictions_per_seq=3"):
        results(bert, path, max_predictions_per_seq=20)
    unpadded = write_records(bert, "unpadded", None, pad_to_max_seq_length=False)
    assert results(bert, unpadded) == foreign


# ---------------------------------------------------------------- whole runs


@pytest.fixture
def dropout(bert):
    """The directory, with a config that drops."""
    return write_model(bert, TOKENS, 0.1)


def many_records(bert, name, num_tokens, count=23, num_slots=3, **changes):
    """Records of `num_tokens` at the most, with repeated words."""
    rng = random.Random(num_tokens)
    values = []
    for number in range(count):
        text = [rng.randrange(5, len(TOKENS)) for _ in range(rng.randint(5, num_tokens - 4))]
        positions = sorted(rng.sample(range(1, 5), 2))
        values.append(
            records.pretraining_values(
                [2, *text, 3, 8, 3],
                positions,
                [rng.randrange(5, len(TOKENS)) for _ in positions],
                type_ids=[0] * (len(text) + 2) + [1] * 2,
                pair_label=number % 2,
                sizes={"T": num_tokens, "P": num_slots},
            )
        )
    (bert / name).mkdir()
    path = records.write_file(bert / name / "a.tfrecord", values)
    if changes:
        lengths = {"max_seq_length": num_tokens, "max_predictions_per_seq": num_slots}
        records.enter([path], Vocabulary(TOKENS), **lengths | changes)
    return path


def trained(bert, path, name, **changes):
    """The weights after a run, of seven updates unless told otherwise."""
    pretrain.run(run_options(bert, path, name, **{"max_grad_norm": 0.5} | changes))
    return weights(bert / name)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Gives the directory of a run on `many_records`, made once for all tests that ask for it."""

    @functools.cache
    def directory(drop_prob, **changes):
        bert = write_model(tmp_path_factory.mktemp("finished"), TOKENS, drop_prob)
        trained(bert, many_records(bert, "records", 17), "out", **changes)
        return bert / "out"

    return directory


def test_weights_do_not_depend_on_replicas_micro_batches_or_who_feeds_them(dropout, finished):
    """With dropout: a row of the global batch has its own mask wherever it is computed."""
    path = many_records(dropout, "records", 17)
    found = functools.partial(trained, dropout, path, num_train_steps=30)
    wanted = weights(finished(0.1, num_train_steps=30))
    by_devices = {"length_buckets": "17", "iterations_per_loop": 7}
    with on_replicas(2):
        assert_close(found("from the host"), wanted, 1e-6)
        cut = by_devices | {"gradient_accumulation_steps": 2}
        assert_close(found("fed by devices", **cut), wanted, 1e-6)


def test_two_processes_make_the_weights_of_one(bert, finished):
    """As on two hosts: each process finds the other through TF_CONFIG; the first one writes.

    Fed from the host; `test_row_batches` has processes whose devices fetch their batches.
    """
    path = many_records(bert, "records", 17)
    wanted = weights(finished(0.0, num_train_steps=30))
    flags = [f"--bert_config_file={bert}/bert_config.json", f"--input_file={path}", "--do_train"]
    flags += [f"--output_dir={bert}/two", "--max_seq_length=17", "--num_train_steps=30"]
    flags += ["--num_warmup_steps=2", "--train_batch_size=8", "--learning_rate=1e-2"]
    flags += ["--max_grad_norm=0.5"]
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    hosts = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    processes = []
    for index in range(2):
        task = {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}}
        environment = os.environ | {"TF_CONFIG": json.dumps(task), "CUDA_VISIBLE_DEVICES": "-1"}
        command = [sys.executable, "run_pretraining.py", *flags]
        processes.append(
            subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stderr=subprocess.PIPE)
        )
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "".join(errors)[-3000:]
    assert_close(weights(bert / "two"), wanted, 1e-6)


def test_buckets_change_padding_and_nothing_else(bert, finished):
    path = many_records(bert, "records", 17)
    wanted = weights(finished(0.0, do_eval=True))
    # In several calls: the first, which compiles, counts for no rate.
    changes = {"length_buckets": "11", "iterations_per_loop": 3}
    changes |= {"gradient_accumulation_steps": 2}
    assert_close(trained(bert, path, "buckets", **changes), wanted, 1e-6)
    last = lines(bert / "buckets")[-2]
    assert 0 < last["real_share"] < 1


def test_compiled_by_xla_the_weights_are_the_same(bert, finished):
    """Without dropout, which takes half of the compilation; `test_update` compiles it."""
    path = many_records(bert, "records", 17)
    wanted = weights(finished(0.0, do_eval=True))
    changes = {"length_buckets": "17", "iterations_per_loop": 3, "jit_compile": True}
    assert_close(trained(bert, path, "compiled", **changes), wanted, 2e-6)


def test_on_a_tpu_shapes_are_static_and_the_host_evaluates(bert, finished, monkeypatch):
    """With a CPU in place of the TPU."""
    cpu = tf.distribute.OneDeviceStrategy("/cpu:0")
    monkeypatch.setattr(pretrain.setup.tpu, "make", lambda options: cpu)
    path = many_records(bert, "records", 17)
    host = finished(0.0, do_eval=True)
    fed = []
    feed = Loop._feed
    monkeypatch.setattr(Loop, "_feed", lambda loop, given: fed.append(given) or feed(loop, given))
    assert_close(trained(bert, path, "tpu", use_tpu=True, do_eval=True), weights(host), 1e-6)
    assert [type(batches) for batches in fed] == [DeviceBatches]
    found = [(out / "eval_results.txt").read_text() for out in (bert / "tpu", host)]
    values = [[float(line.split()[-1]) for line in text.splitlines()] for text in found]
    assert values[0] == pytest.approx(values[1], abs=1e-5)


PHASES = {"phases": "17:4,29:3:4:5e-3", "save_checkpoints_steps": 2, "iterations_per_loop": 1}


def test_a_run_of_two_phases_goes_on_bit_for_bit(dropout):
    """Fed by devices, with masks that are drawn, and killed in the second phase."""
    paths = ",".join(many_records(dropout, f"of_{size}", size) for size in (17, 29))
    changes = PHASES | {"length_buckets": "17", "dynamic_masking": True}
    with copied_after(5, dropout / "straight", dropout / "killed"):
        straight = trained(dropout, paths, "straight", **changes)
    assert not (dropout / "killed" / "last").exists()
    assert_close(trained(dropout, paths, "killed", **changes), straight, 0)
    assert losses(dropout / "killed") == losses(dropout / "straight")
    assert len(losses(dropout / "killed")) == 7


def test_each_phase_takes_the_records_of_its_length(bert):
    paths = many_records(bert, "of_17", 17)
    with pytest.raises(InputError, match=r"no records of length 29.*found: \[17\]"):
        trained(bert, paths, "out", **PHASES)


@pytest.mark.parametrize(
    ("objective", "names"),
    [
        ("mlm", {"masked_lm_loss", "masked_lm_accuracy"}),
        ("ltr", {"left_to_right_loss", "left_to_right_accuracy"}),
        ("ltr_nsp", {"left_to_right_loss", "next_sentence_loss", "next_sentence_accuracy"}),
    ],
)
def test_objectives(finished, objective, names):
    out = finished(0.0, objective=objective, do_eval=True)
    text = (out / "eval_results.txt").read_text()
    assert all(f"{name} = " in text for name in names)
    has_pairs = "cls/seq_relationship/output_weights" in weights(out)
    assert has_pairs == ("next_sentence_loss" in names)
    config = json.loads((out / "bert_config.json").read_text())
    assert config.get("is_causal", False) == objective.startswith("ltr")
    assert "metrics" in next(line for line in lines(out) if "metrics" in line)
    assert (out / "report.html").stat().st_size > 1000


def test_records_of_another_kind_are_refused(bert):
    path = many_records(bert, "records", 17, example_type="nsp")
    with pytest.raises(InputError, match="mlm_sop|sop"):
        trained(bert, path, "out", objective="mlm_sop")


def test_dynamic_masks_are_others(bert, finished):
    path = many_records(bert, "records", 17)
    static = weights(finished(0.0, do_eval=True))
    dynamic = trained(bert, path, "dynamic", dynamic_masking=True)
    assert any(not np.allclose(dynamic[name], static[name], atol=1e-5) for name in static)


def dry_run(bert, **changes):
    values = {"bert_config_file": f"{bert}/bert_config.json", "output_dir": f"{bert}/dry.out"}
    values |= {"max_seq_length": 17, "num_warmup_steps": 0, "dry_run": True}
    pretrain.run(options.PreTraining(**values | changes))


def test_a_dry_run_prints_what_it_would_take_and_writes_nothing(bert, capsys):
    dry_run(bert, input_file=many_records(bert, "records", 17))
    assert "parameters" in capsys.readouterr().out.lower()
    assert not (bert / "dry.out").exists()


def test_a_dry_run_on_an_unknown_gpu_says_that_the_run_can_start(bert, monkeypatch, capsys):
    path = many_records(bert, "records", 17)
    monkeypatch.setattr(pretrain.hardware, "here", lambda _: hardware.name_of("NVIDIA L40S"))
    pretrain.run(run_options(bert, path, "out", dry_run=True))
    assert "The run can start" in capsys.readouterr().out.split("NVIDIA L40S is not in the")[0]


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_dry_run_plans_for_what_compiles(bert, monkeypatch, jit_compile):
    planned = []
    monkeypatch.setattr(
        pretrain,
        "describe",
        lambda config, options, hardware, num_predictions: planned.append(options) or "",
    )
    monkeypatch.setattr(pretrain.hardware, "here", lambda dtype: None)
    dry_run(bert, input_file=many_records(bert, "records", 17), jit_compile=jit_compile)
    assert [each.jit_compile for each in planned] == [jit_compile]


def test_a_dry_run_plans_for_the_predictions_of_the_records(bert, monkeypatch, capsys):
    monkeypatch.setattr(pretrain.hardware, "here", lambda _: hardware.find("v5e-8"))
    # 15 % of 17 tokens would be 3.
    short = many_records(bert, "short", 17, num_slots=5, example_type="nsp")
    dry_run(bert, input_file=short)
    assert re.search(r"predictions per example +5\n", capsys.readouterr().out)
    long = many_records(bert, "long", 29, num_slots=7)  # without a manifest
    dry_run(bert, input_file=f"{short},{long}", phases="17:3,29:2")
    assert re.search(r"predictions per example +5 +7\n", capsys.readouterr().out)
    dry_run(bert, input_file=short, objective="ltr_nsp")
    assert re.search(r"predictions per example +17\n", capsys.readouterr().out)


def test_a_dry_run_refuses_what_a_run_would(bert, finished):
    path = many_records(bert, "records", 17)
    out = finished(0.0, do_eval=True)
    changes = {"max_grad_norm": 0.5, "output_dir": str(out), "random_seed": 7, "dry_run": True}
    with pytest.raises(InputError, match="random_seed is 12345 there and 7 here"):
        pretrain.run(run_options(bert, path, "out", **changes))
    write_model(bert, TOKENS, 0.0, hidden_size=26)
    vocab = f"{bert}/vocab.txt"
    with pytest.raises(InputError, match="does not fit the model"):
        dry_run(bert, input_file=path, init_checkpoint=f"{out}/last", vocab_file=vocab)
    assert not (bert / "dry.out").exists()


def test_a_finished_run_is_evaluated_and_not_trained_again(bert, capsys):
    path = many_records(bert, "records", 17)
    trained = results(bert, path)
    assert trained["global_step"] == "3"
    assert results(bert, path, do_train=False) == trained
    # Complete, it keeps no training state, and the same command only evaluates.
    assert set(os.listdir(f"{path}.out/training")) == {"complete.json", "identity.json", "lock"}
    os.remove(f"{path}.out/report.html")  # as if it had not fitted on the disk
    assert results(bert, path) == trained
    assert capsys.readouterr().out.count("The training is complete after step 3") == 1
    assert os.path.exists(f"{path}.out/report.html")


def test_a_run_may_go_on_in_more_micro_batches_and_recompute(dropout, finished):
    path = many_records(dropout, "records", 17)
    wanted = weights(finished(0.1))
    with killed_after(5):
        trained(dropout, path, "moved", save_checkpoints_steps=3)
    in_less_memory = {"gradient_accumulation_steps": 4, "recompute": True}
    assert_close(trained(dropout, path, "moved", **in_less_memory), wanted, 1e-6)


@pytest.mark.parametrize(("learned", "wanted"), [("ltr", "mlm_nsp"), ("mlm", "ltr_nsp")])
def test_weights_of_the_other_direction_are_refused(bert, finished, learned, wanted):
    path = many_records(bert, "records", 17)
    learner = finished(0.0, objective=learned, do_eval=True)
    given = {"init_checkpoint": str(learner), "vocab_file": f"{bert}/vocab.txt"}
    with pytest.raises(InputError, match=f"Give --objective={learned.split('_')[0]}"):
        trained(bert, path, "more", objective=wanted, **given)


@pytest.mark.parametrize("steps_per_call", [None, 7])
def test_a_loss_that_is_lost_names_its_step_and_the_files_of_its_batch(bert, steps_per_call):
    """The first update throws the weights far away; the second finds no finite loss."""
    paths = [many_records(bert, name, 17, count=3) for name in ("a", "b")]
    changes = {"learning_rate": 1e30, "train_batch_size": 1, "num_warmup_steps": 0}
    if steps_per_call:
        changes |= {"length_buckets": "17", "iterations_per_loop": steps_per_call}
    with pytest.raises(DivergedError, match="Step 2: ") as caught:
        trained(bert, ",".join(paths), "out", **changes)
    reader = global_batches.Reader(
        paths, read_check.present(paths, global_batches.FEATURES), {"T": 17, "P": 3},
        batch_size=1, seed=12345,
    )  # fmt: skip
    assert caught.value.record_files == [path for path, _ in reader.sources(1)]


def test_a_damaged_file_of_evaluation_is_named(bert, finished):
    path = many_records(bert, "records", 17)
    damaged = bert / "damaged.tfrecord"
    content = bytearray(pathlib.Path(path).read_bytes())
    content[-9] ^= 1
    damaged.write_bytes(content)
    learned = {"init_checkpoint": f"{finished(0.0, do_eval=True)}/last", "do_train": False}
    learned["vocab_file"] = f"{bert}/vocab.txt"
    with pytest.raises(InputError, match="damaged.tfrecord is damaged"):
        results(bert, path, eval_input_file=str(damaged), **learned)
