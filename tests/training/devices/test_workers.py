"""Several processes decide together; one process decides alone."""

import json
import os
import pathlib
import socket
import subprocess
import sys

import tensorflow as tf

from bert_tf.training.devices.workers import Workers

REPOSITORY = pathlib.Path(__file__).parents[3]

# What each of two workers does; prints a line of JSON. The second is given another directory of
# states where the arguments say so.
WORKER = """
import json, sys
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
from bert_tf.errors import InputError
from bert_tf.training.monitoring.guards import ReplicaCheck
from bert_tf.training.resume.interrupt import Interrupt
from bert_tf.training.resume.state import State
from bert_tf.training.devices.workers import Workers

shared, other, index = sys.argv[1], sys.argv[2], int(sys.argv[3])
workers = Workers(strategy)
found = {"is_chief": workers.is_chief, "are_several": workers.are_several}
found["from_chief"] = workers.from_chief([-5 - index, 1 << 40])
found["any"] = [workers.any(flag) for flag in (False, index == 1, True)]
with Interrupt(workers.any) as interrupt:
    found["asked"] = interrupt.asked()

with strategy.scope():
    weights = {"kernel": tf.Variable(tf.zeros([3, 5]))}
    step = tf.Variable(0, dtype=tf.int64)

def state(directory):
    return State(directory, {"weights": weights}, step, strategy)

found["fresh"] = state(shared).restore()
weights["kernel"].assign(tf.fill([3, 5], 7.0))
step.assign(7)
found["path"] = state(shared).save()
weights["kernel"].assign(tf.fill([3, 5], 1.0))
step.assign(1)
again = state(shared)
found["restored"] = again.restore()
found["kernel"] = weights["kernel"].numpy().tolist()
found["agree"] = [not ReplicaCheck(strategy, list(weights.values())).differing()]
strategy.experimental_local_results(weights["kernel"])[0].assign(tf.fill([3, 5], 7.0 + index))
found["agree"].append(not ReplicaCheck(strategy, list(weights.values())).differing())
try:
    state(other if index else shared).restore()
except InputError as error:
    found["error"] = str(error)
print(json.dumps(found), flush=True)
"""


def test_one_process_is_the_chief_and_decides_alone():
    workers = Workers(tf.distribute.OneDeviceStrategy("/cpu:0"))
    assert (workers.is_chief, workers.are_several) == (True, False)
    assert workers.from_chief([2, 3]) == [2, 3]
    assert (workers.any(True), workers.any(False)) == (True, False)


def free_ports(number):
    sockets = [socket.create_server(("localhost", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def test_two_processes_follow_the_chief_and_share_its_states(tmp_path):
    cluster = {"worker": [f"localhost:{port}" for port in free_ports(2)]}

    def config(index):
        return {"cluster": cluster, "task": {"type": "worker", "index": index}}

    shared, other = tmp_path / "shared", tmp_path / "other"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(shared), str(other), str(index)],
            cwd=REPOSITORY,
            env=os.environ | {"TF_CONFIG": json.dumps(config(index))},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [p.returncode for p in processes] == [0, 0], "".join(errors for _, errors in outputs)
    found = [json.loads(output.splitlines()[-1]) for output, _ in outputs]

    assert [each.pop("is_chief") for each in found] == [True, False]
    errors = [each.pop("error") for each in found]
    assert found[0] == found[1]
    assert found[0] == {
        "are_several": True,
        "from_chief": [-5, 1 << 40],
        "any": [False, True, True],
        "asked": False,
        "fresh": 0,
        "path": str(shared / "step-7"),
        "restored": 7,
        "kernel": [[7.0] * 5] * 3,
        "agree": [True, False],
    }
    assert "not every worker could; --output_dir must be on a disk that all" in errors[0]
    assert "(this one: state.json is missing)" in errors[1]
