"""What requests say, read from their messages: models, tf.Examples, tasks."""

from typing import Any

from tensorflow_serving.apis import inference_pb2, input_pb2, model_pb2

from serving.methods.inference import Task
from serving.models.servable import DEFAULT_SIGNATURE
from serving.models.spec import ModelSpec
from serving.status import invalid


def model_spec(request: Any) -> ModelSpec:
    """The model that a request names.

    Raises:
      ServingError: INVALID_ARGUMENT; it names none.
    """
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    return _spec(request.model_spec)


def _spec(message: model_pb2.ModelSpec) -> ModelSpec:
    choice = message.WhichOneof("version_choice")
    return ModelSpec(
        message.name,
        message.version.value if choice == "version" else None,
        message.version_label if choice == "version_label" else None,
        message.signature_name,
    )


def fill_spec(message: model_pb2.ModelSpec, spec: ModelSpec, version: int) -> None:
    """Writes into an answer which signature of which version gave it."""
    message.name = spec.name
    message.version.value = version
    message.signature_name = spec.signature_name or DEFAULT_SIGNATURE


def examples(message: input_pb2.Input) -> list[bytes]:
    """Serialized tf.Examples; the features of a context are part of each."""
    if message.WhichOneof("kind") == "example_list_with_context":
        given = message.example_list_with_context
        # Serialized messages one after the other are merged when they are read.
        context = given.context.SerializeToString()
        return [context + each.SerializeToString() for each in given.examples]
    return [each.SerializeToString() for each in message.example_list.examples]


def tasks(request: inference_pb2.MultiInferenceRequest) -> list[Task]:
    """The tasks of a multi-inference request."""
    return [Task(_spec(task.model_spec), task.method_name) for task in request.tasks]
