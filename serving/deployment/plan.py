"""What is decided for a deployment: image, memory, threads, batching, the server's flags."""

import dataclasses
import math
from collections.abc import Sequence

from bert_tf.errors import InputError
from serving.deployment.exported import Model
from serving.deployment.options import Deploy

_REPOSITORY = "tensorflow/serving"
# The last release of each version, as the image is tagged.
_TAGS = {
    "2.15": "2.15.1",
    "2.16": "2.16.1",
    "2.17": "2.17.1",
    "2.18": "2.18.1",
    "2.19": "2.19.1",
    "2.20": "2.20.0",
}
_MIB = 2**20
# The server itself with TensorFlow, and how often weights are in memory. Frozen ones are copied
# into the graph, and once more in the layout that oneDNN multiplies fastest.
_SERVER_MIB = 1024
_COPIES, _FROZEN_COPIES = 3, 20
_STEP_MIB = 256
_TIMEOUT_SECONDS = 10
_CONFIG_POLL_SECONDS = 30
_CONNECTION_SECONDS = 300


@dataclasses.dataclass(frozen=True)
class Plan:
    """The values that the templates fill in.

    Attributes:
      name: of the objects in Kubernetes.
      batching: lines of batching.config; none: batching is off.
      server_flags: of tensorflow_model_server.
      drain_seconds: from when a server is to stop until it does.
      volume_gib: room for five times the versions that are served.
    """

    name: str
    models: tuple[Model, ...]
    image: str
    gpu: bool
    cpus: int
    memory_mib: int
    replicas: int
    batching: tuple[str, ...]
    server_flags: tuple[str, ...]
    config_poll_seconds: int
    drain_seconds: int
    volume_gib: int


def make(options: Deploy, models: Sequence[Model]) -> Plan:
    """Decides what the flags leave open.

    Raises:
      InputError: no known image runs all models, or the named one does not; two models of one
        name.
    """
    names = [model.name for model in models]
    if len(names) != len(set(names)):
        raise InputError(
            f"--model_base_path: two models are called {max(names, key=names.count)}; a model has "
            "the name of its directory. Rename one."
        )
    num_bytes = sum(model.num_bytes for model in models)
    batching, per_model = _batching(models, options.cpus)
    return Plan(
        name=options.deployment_name,
        models=tuple(models),
        image=_image(options, models),
        gpu=options.gpu,
        cpus=options.cpus,
        memory_mib=options.memory_mib or _memory_mib(models),
        replicas=options.replicas,
        batching=batching,
        server_flags=_server_flags(options.cpus, bool(batching), per_model),
        config_poll_seconds=_CONFIG_POLL_SECONDS,
        # Load balancers take a few seconds to leave a server out; its last request then ends.
        drain_seconds=_TIMEOUT_SECONDS + 5,
        volume_gib=max(1, math.ceil(5 * num_bytes / 2**30)),
    )


def _image(options: Deploy, models: Sequence[Model]) -> str:
    image = options.image
    if image and set(image) & set("/:@"):
        return image  # somebody's own, of which nothing is known
    suffix = "-gpu" if options.gpu else ""
    if image:
        _check_image(image, models)
        return f"{_REPOSITORY}:{image.removesuffix('-gpu')}{suffix}"
    able = [each for each in _TAGS if all(each in model.images for model in models)]
    if not able:
        raise InputError(
            f"No image from {next(iter(_TAGS))} to {list(_TAGS)[-1]} can run all of "
            f"{', '.join(model.name for model in models)}; `python -m export.compatibility` says "
            "why. Give an --image of your own, or export again."
        )
    return f"{_REPOSITORY}:{_TAGS[able[-1]]}{suffix}"


def _check_image(image: str, models: Sequence[Model]) -> None:
    short = ".".join(image.split("-")[0].split(".")[:2])
    for model in models:
        for number, findings in model.findings.items():
            if problems := findings.problems.get(short):
                raise InputError(
                    f"--image={image} cannot run version {number} of {model.name}: "
                    f"{'; '.join(problems)}. Images that can: {', '.join(findings.images)}."
                )


def _memory_mib(models: Sequence[Model]) -> int:
    needed = sum(
        model.num_bytes * (_FROZEN_COPIES if model.is_frozen else _COPIES) for model in models
    )
    return _STEP_MIB * math.ceil((_SERVER_MIB + needed / _MIB) / _STEP_MIB)


def _batching(models: Sequence[Model], cpus: int) -> tuple[tuple[str, ...], bool]:
    """The lines of batching.config, and whether each version has parameters of its own."""
    found = {model.batching for model in models}
    if found == {()}:
        return (), False
    threads = f"num_batch_threads {{ value: {cpus} }}"
    if len(found) == 1:
        return (*found.pop(), threads), False
    return (threads,), True


def _server_flags(cpus: int, is_batching: bool, per_model: bool) -> tuple[str, ...]:
    """Flags; threads are given, as the server would count the CPUs of the machine."""
    flags = [
        "--port=8500",
        "--rest_api_port=8501",
        "--model_config_file=/config/models.config",
        f"--model_config_file_poll_wait_seconds={_CONFIG_POLL_SECONDS}",
        "--allow_version_labels_for_unavailable_models=true",
        "--file_system_poll_wait_seconds=10",
        "--monitoring_config_file=/config/monitoring.config",
        f"--rest_api_timeout_in_ms={1000 * _TIMEOUT_SECONDS}",
        f"--tensorflow_intra_op_parallelism={cpus}",
        f"--tensorflow_inter_op_parallelism={cpus}",
        "--num_load_threads=1",
        f"--grpc_channel_arguments=grpc.max_connection_age_ms={1000 * _CONNECTION_SECONDS}",
    ]
    if is_batching:
        flags += ["--enable_batching=true", "--batching_parameters_file=/config/batching.config"]
    if per_model:
        flags.append("--enable_per_model_batching_parameters=true")
    return tuple(flags)
