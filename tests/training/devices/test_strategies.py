"""The strategy of a run. Every test process has four logical CPU devices and no GPU."""

import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.training.devices import strategies


@pytest.mark.parametrize(("name", "replicas"), [("auto", 1), ("one_device", 1), ("mirrored", 4)])
def test_make(name, replicas):
    assert strategies.make(name).num_replicas_in_sync == replicas


@pytest.mark.parametrize(("name", "replicas"), [("auto", 2), ("one_device", 1), ("mirrored", 2)])
def test_make_prefers_gpus(monkeypatch, name, replicas):
    two = [tf.config.LogicalDevice(f"/device:GPU:{i}", "GPU") for i in (0, 1)]
    monkeypatch.setattr(tf.config, "list_logical_devices", {"GPU": two, "CPU": []}.get)
    found = {}
    monkeypatch.setattr(strategies, "mirrored", lambda devices: found.update(many=devices))
    monkeypatch.setattr(tf.distribute, "OneDeviceStrategy", lambda device: found.update(one=device))
    strategies.make(name)
    names = ["/device:GPU:0", "/device:GPU:1"]
    assert found == ({"one": names[0]} if replicas == 1 else {"many": names})


def test_one_gpu_is_used_alone(monkeypatch):
    gpu = tf.config.LogicalDevice("/device:GPU:0", "GPU")
    monkeypatch.setattr(tf.config, "list_logical_devices", {"GPU": [gpu], "CPU": []}.get)
    monkeypatch.setattr(tf.distribute, "OneDeviceStrategy", lambda device: device)
    assert strategies.make("auto") == "/device:GPU:0"


def test_only_one_cpu_takes_a_dataset_as_it_is():
    def dataset(context):
        return tf.data.Dataset.range(0 if context is None else context.num_replicas_in_sync)

    of_one = strategies.distribute(strategies.make("one_device"), dataset)
    assert isinstance(of_one, tf.data.Dataset) and of_one.cardinality() == 0
    of_four = strategies.distribute(strategies.make("mirrored"), dataset)
    assert not isinstance(of_four, tf.data.Dataset)
    assert next(iter(of_four)).values == (0, 1, 2, 3)


def test_mirrored_sums_over_as_many_replicas_as_asked_in_one_process():
    for replicas in (2, 3, 2):
        strategy = strategies.mirrored([f"/cpu:{i}" for i in range(replicas)])

        def total():
            context = tf.distribute.get_replica_context()
            number = tf.cast(context.replica_id_in_sync_group + 1, tf.float32)
            return context.all_reduce("SUM", {"a": tf.fill([5], number), "b": number})

        results = strategy.experimental_local_results(
            tf.function(lambda strategy=strategy, total=total: strategy.run(total))()
        )
        wanted = replicas * (replicas + 1) / 2
        assert [result["a"].numpy().tolist() for result in results] == [[wanted] * 5] * replicas
        assert [float(result["b"]) for result in results] == [wanted] * replicas


def test_check_batch_size():
    strategy = strategies.mirrored(["/cpu:0", "/cpu:1", "/cpu:2"])
    strategies.check_batch_size(strategy, 12)
    with pytest.raises(InputError, match="--train_batch_size=11 .* the 3 replicas; give 12, or"):
        strategies.check_batch_size(strategy, 11)


def test_a_host_of_several_reads_for_its_own_replicas():
    strategy = strategies.mirrored([f"/cpu:{i}" for i in range(4)])
    contexts = [tf.distribute.InputContext(2, host, 4) for host in (0, 1)]
    found = [list(strategies.local_replicas(strategy, each)) for each in contexts]
    assert found == [[0, 1], [2, 3]]
    alone = tf.distribute.InputContext(1, 0, 4)
    assert list(strategies.local_replicas(strategy, alone)) == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["{'cluster': 1}", "[]", '{"cluster": ["a:1", "b:1"]}'])
@pytest.mark.parametrize("name", ["auto", "multi_worker"])
def test_a_variable_that_names_no_cluster_is_refused(monkeypatch, text, name):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(InputError, match='TF_CONFIG is.*"task": '):
        strategies.make(name)


def test_what_one_process_does_alone_has_the_strategy_of_one_process():
    mirrored = strategies.mirrored(["cpu:0", "cpu:1"])
    assert strategies.of_this_process(mirrored) is mirrored
    several = object.__new__(tf.distribute.MultiWorkerMirroredStrategy)
    assert strategies.of_this_process(several).num_replicas_in_sync == 1
