"""Which images can run a graph: its operations, with their attributes, against the table."""

import dataclasses
from collections.abc import Iterator, Mapping

from tensorflow.core.protobuf import saved_model_pb2

from export.images import graph, registry, table

# The oldest image that every export must run on.
FIRST_IMAGE = "2.15"

# Operations of TensorFlow that run Python code at the time of the request.
_PYTHON_OPERATIONS = frozenset(["EagerPyFunc", "PyFunc", "PyFuncStateless"])


@dataclasses.dataclass(frozen=True)
class Findings:
    """Which images can run a graph.

    Attributes:
      operations: names of all that the graph has, sorted.
      text_operations: those that TensorFlow Text adds, sorted.
      problems: from each image, oldest first, to what it cannot run: clauses such as
        "TFText>RoundRobinTrim is first in image 2.20".
    """

    operations: tuple[str, ...]
    text_operations: tuple[str, ...]
    problems: Mapping[str, tuple[str, ...]]

    @property
    def images(self) -> tuple[str, ...]:
        """The images that can run it, oldest first."""
        return tuple(image for image, problems in self.problems.items() if not problems)

    def summary(self) -> str:
        """The smallest image that can run it, and what that must have of TensorFlow Text."""
        smallest = self.images[0] if self.images else "none"
        of_text = ", ".join(self.text_operations) or "nothing"
        return (
            f"smallest TensorFlow Serving image: {smallest}; of TensorFlow Text it needs {of_text}"
        )


def check(saved_model: saved_model_pb2.SavedModel, image: str = FIRST_IMAGE) -> Findings:
    """Refuses a SavedModel that an image or a later one cannot run.

    Raises:
      ValueError: names each offending operation and the first image that has it, if any.
    """
    findings = examine(saved_model)
    names = list(findings.problems)
    for each in names[names.index(image) :]:
        if problems := findings.problems[each]:
            clauses = "; ".join(problems)
            raise ValueError(f"TensorFlow Serving {each} cannot run this graph: {clauses}.")
    return findings


def examine(saved_model: saved_model_pb2.SavedModel) -> Findings:
    """Finds out which images can run a SavedModel, its functions included.

    An image can run it if it registers each operation, admits the attributes and the number of
    inputs of each node, gives attributes that are left out the value that the newest image gives
    them, and has a kernel for CPUs wherever the newest image has one.
    """
    wanted = graph.read(saved_model)
    names = tuple(sorted({use.operation for use in wanted.uses}))
    always = [
        *(f"{n} runs Python code, which no image does" for n in names if n in _PYTHON_OPERATIONS),
        *(f"{name} must be compiled by XLA, which is off" for name in wanted.compiled),
    ]
    lacks = {image: frozenset(_lacking(wanted, image)) for image in table.images()}
    problems = {
        image: (*always, *(_clause(subject, image, lacks) for subject in sorted(lacks[image])))
        for image in lacks
    }
    return Findings(names, tuple(filter(_is_text, names)), problems)


def _lacking(wanted: graph.Graph, image: str) -> Iterator[str]:
    """What an image lacks for a graph."""
    if table.images()[image].graph_version < wanted.min_consumer:
        yield f"a reader of graphs for version {wanted.min_consumer} and later"
    for use in wanted.uses:
        if use.operation not in _PYTHON_OPERATIONS:
            if subject := registry.missing(use, wanted.producer, image):
                yield subject


def _clause(subject: str, image: str, lacks: Mapping[str, frozenset[str]]) -> str:
    """What an image lacks, and where it is."""
    with_it = [each for each in lacks if subject not in lacks[each]]
    order = list(lacks)
    later = [each for each in with_it if order.index(each) > order.index(image)]
    if later:
        return f"{subject} is first in image {later[0]}"
    return f"{subject} is last in image {with_it[-1]}" if with_it else f"{subject} is in no image"


def _is_text(name: str) -> bool:
    definitions = (table.definition(name, image) for image in table.images())
    return any(each.is_text for each in definitions if each)
