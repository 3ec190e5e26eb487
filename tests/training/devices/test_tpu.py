"""TPUs: the errors without one, and what one would compile, without running it."""

import socket
import types

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.options import Devices
from bert_tf.training import setup
from bert_tf.training.devices import environment, tpu
from bert_tf.training.finetuning.predict import Predictor
from bert_tf.training.monitoring.guards import ReplicaCheck
from bert_tf.training.plan import peak
from bert_tf.training.pretraining.pretraining_data import PhaseData
from bert_tf.training.step.feeding import DeviceBatches
from bert_tf.training.step.loop import Loop
from tests.reference import pretend_tpu, state_run, toy_fine_tuning, toy_pretraining

SHORT, LONG = toy_pretraining.SHORT, toy_pretraining.NUM_TOKENS


def devices(**values):
    return Devices(use_tpu=True, **values)


@pytest.fixture(autouse=True)
def no_tpu_name(monkeypatch):
    monkeypatch.delenv("TPU_NAME", raising=False)


@pytest.fixture
def found(monkeypatch):
    """Lets a TPU of four cores be found; holds what it was looked for by."""
    calls = {}

    def resolver(name, **kwargs):
        calls.update(name=name, **kwargs, timeout=socket.getdefaulttimeout())
        return pretend_tpu.Resolver(4)

    monkeypatch.setattr(tf.distribute.cluster_resolver, "TPUClusterResolver", resolver)
    monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", lambda resolver: None)
    monkeypatch.setattr(tf.tpu.experimental, "initialize_tpu_system", lambda resolver: None)
    return calls


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, r"--use_tpu without --tpu_name: local: .*\(this build of .* does not support TPUs\)"),
        ({"tpu_name": "local"}, "--tpu_name=local: .*a TPU VM with a build of TensorFlow for"),
        ({"tpu_name": "grpc://127.0.0.1:1"}, r"127.0.0.1:1: .*refused\). The TPU must be running"),
        ({"master": "grpc://127.0.0.1:1"}, "--master=grpc://127.0.0.1:1: no usable TPU there"),
        (
            {"tpu_name": "mine", "gcp_project": "p", "tpu_zone": "z"},
            "--tpu_name=mine: .*the package cloud-tpu-client.*=grpc://host:port .*--use_tpu=false",
        ),
    ],
)
def test_no_tpu_is_said_with_what_was_tried(flags, message):
    before = socket.getdefaulttimeout()
    with pytest.raises(InputError, match=message):
        tpu.make(devices(**flags))
    assert socket.getdefaulttimeout() == before


def test_the_environment_names_one(monkeypatch):
    monkeypatch.setenv("TPU_NAME", "grpc://127.0.0.1:1")
    with pytest.raises(InputError, match="variable TPU_NAME=grpc://127.0.0.1:1: no usable TPU"):
        tpu.make(devices())


def test_a_tpu_is_found_by_name_zone_and_project(found):
    strategy = tpu.make(devices(tpu_name="mine", tpu_zone="z", gcp_project="p"))
    assert isinstance(strategy, tf.distribute.TPUStrategy)
    assert strategy.num_replicas_in_sync == 4
    limit = found.pop("timeout")
    assert found == {"name": "mine", "zone": "z", "project": "p"}
    assert 0 < limit <= 30


@pytest.mark.parametrize("wanted", [8, 4])
def test_all_cores_are_used(found, wanted):
    assert tpu.make(devices(num_tpu_cores=wanted)).num_replicas_in_sync == 4


def test_another_number_of_cores_is_refused(found):
    with pytest.raises(
        InputError, match="--num_tpu_cores=32, but the TPU has 4, .* Leave the flag"
    ):
        tpu.make(devices(num_tpu_cores=32))


def test_set_up_asks_for_a_tpu_and_for_no_order_of_sums(found, monkeypatch):
    asked = []
    monkeypatch.setattr(tf.config.experimental, "enable_op_determinism", lambda: asked.append(1))
    options = types.SimpleNamespace(**vars(devices()), random_seed=3, dtype="float32")
    assert isinstance(setup.set_up_devices(options), tf.distribute.TPUStrategy)
    assert asked == []


@pytest.mark.parametrize(
    "case",
    [
        {"lengths": (SHORT, LONG)},
        {"optimizer": "lamb", "objective": "mlm", "is_packed": True},
        {"objective": "ltr_nsp", "recompute": True, "num_micro_batches": 2},
    ],
)
def test_an_update_holds_only_what_is_compiled_for_tpus(case):
    graph = pretend_tpu.update_graph(**case)
    assert graph.not_for_tpus() == set()
    names = {node.op for node in graph.on_tpu}
    assert {"MatMul", "CrossReplicaSum", "IsFinite"} <= names
    # These choose a generator by the kind of device: dropout masks would be others on a TPU.
    assert not {"StatelessRandomGetAlg", "StatelessRandomGetKeyCounter"} & names
    assert {"IteratorGetNext"} <= {node.op for node in graph.on_host} - names


@pytest.mark.parametrize("kind", ["tag", "choice"])
def test_fine_tuning_holds_only_what_is_compiled_for_tpus(kind):
    cores = pretend_tpu.strategy()
    model, update = toy_fine_tuning.update(kind, cores)
    _, shapes = toy_fine_tuning.batches(kind, 2, lengths=(toy_fine_tuning.LENGTH,))
    step, batches = update.with_static_shapes(shapes), iter(toy_fine_tuning.dataset(kind, cores))

    @tf.function(autograph=False)
    def call(number):
        return step(next(batches), number)

    graph = pretend_tpu.Graph(call.get_concrete_function(tf.TensorSpec([], tf.int64)))
    assert graph.not_for_tpus() == set()
    assert {"MatMul", "CrossReplicaSum"} <= {node.op for node in graph.on_tpu}
    # And the predictions of the same model, in batches of 5.
    rows = toy_fine_tuning.rows(kind)
    predictor = Predictor(model, cores, [toy_fine_tuning.LENGTH])
    batch = predictor._padded(rows.without_labels().batch(np.arange(3)), 5, rows.num_sequences)
    assert {values.shape[0] for values in batch.values()} == {6}  # which two cores share
    specification = {name: tf.TensorSpec(x.shape, x.dtype) for name, x in batch.items()}
    graph = pretend_tpu.Graph(predictor._graph(rows).get_concrete_function(specification))
    assert graph.not_for_tpus() == set()
    assert "MatMul" in {node.op for node in graph.on_tpu}


def test_what_is_not_compiled_would_be_found():
    strategy = pretend_tpu.strategy()

    @tf.function(autograph=False)
    def call(x):
        def printed(x):
            tf.print(x)
            return tf.strings.as_string(x)

        return strategy.run(printed, args=(x,))

    graph = pretend_tpu.Graph(call.get_concrete_function(tf.TensorSpec([3])))
    assert {"StringFormat", "AsString"} <= graph.not_for_tpus()


def test_the_loop_of_updates_stays_on_the_host_with_one_program_for_the_tpu(tmp_path):
    strategy = pretend_tpu.strategy(4)
    _, update = toy_pretraining.update(strategy)
    loop = Loop(update, str(tmp_path), {}, save_steps=5)
    shapes = toy_pretraining.static_shapes((LONG,), 4)
    batches = DeviceBatches(toy_pretraining.dataset(strategy), shapes, updates_per_call=3)
    updates = loop._feed(batches)._updates
    graph = pretend_tpu.Graph(updates.get_concrete_function(tf.TensorSpec([], tf.int32)))
    assert graph.not_for_tpus() == set()
    on_host = [node.op for node in graph.on_host]
    assert on_host.count("TPUCompilationResult") == 1
    assert on_host.count("While") == 1
    norm = pretend_tpu.Graph(loop._norm.get_concrete_function())
    assert norm.not_for_tpus() == set() and "L2Loss" in {node.op for node in norm.on_tpu}


def test_replicas_are_compared_on_the_tpu():
    strategy = pretend_tpu.strategy()
    with strategy.scope():
        variables = [tf.Variable(tf.ones([3, 5])), tf.Variable(tf.ones([7], tf.bfloat16))]
    check = ReplicaCheck(strategy, variables)
    graph = pretend_tpu.Graph(check._checksums.get_concrete_function())
    assert graph.not_for_tpus() == set()
    assert "BitwiseXor" in {node.op for node in graph.on_tpu}


def test_state_is_saved_and_restored_by_this_process(tmp_path):
    run = state_run.Run(tmp_path, pretend_tpu.strategy())
    run.save(3)
    again = state_run.Run(tmp_path, pretend_tpu.strategy())
    assert again.state.restore() == 3
    again.assert_at(3)
    state_run.assert_restores(tmp_path, 3)  # on a CPU


def test_every_host_of_a_slice_reads_for_its_own_cores():
    asked, read_on = [], []

    class Reader:
        def micro_batches(self, start_batch, **kwargs):
            asked.append(kwargs)
            return tf.data.Dataset.range(1)

    def distribute(dataset, options):
        read_on.extend(dataset(tf.distribute.InputContext(2, host, 8)) for host in (0, 1))

    slice_ = types.SimpleNamespace(
        num_replicas_in_sync=8,
        distribute_datasets_from_function=distribute,
        extended=types.SimpleNamespace(worker_devices=("/device:TPU:0", "/device:TPU:1")),
    )
    options = types.SimpleNamespace(
        gradient_accumulation_steps=2,
        lengths=lambda length: (length,),
        has_static_shapes=True,
        iterations_per_loop=3,
    )
    phase = types.SimpleNamespace(batch_size=64, max_seq_length=17)
    data = PhaseData(phase, 0, None)
    data.batches(Reader(), options, slice_, 0)
    found = [(each["first_row"], each["num_rows"], each["num_replicas"]) for each in asked[:2]]
    assert found == [(0, 32, 4), (32, 32, 4)]


def test_its_peak_is_not_measured_and_its_cores_are_counted():
    strategy = pretend_tpu.strategy(4)
    assert peak.of_strategy(strategy) is None
    described = environment.describe(strategy)
    assert described["Accelerators"] == "4 x TPU core"
    assert described["Replicas"] == "4"
