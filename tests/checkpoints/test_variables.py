import pytest

from bert_tf.checkpoints import model_directory, variables
from bert_tf.checkpoints.kinds import KINDS
from tests.checkpoints import samples
from tests.modeling import harness


@pytest.mark.parametrize("kind", KINDS)
def test_paths_and_shapes_are_those_of_the_model_of_each_kind(kind):
    labels = ("x", "y", "z") if kind in samples.LABELLED else ()
    metadata = model_directory.ModelMetadata(
        kind=kind, task="t", do_lower_case=True, max_seq_length=7, labels=labels, num_texts=2
    )
    model = model_directory.new_model(harness.config(), metadata)
    shapes = variables.shapes(harness.config(), metadata.num_outputs)
    wanted = {
        p: s for p, s in shapes.items() if p.split("/")[0] in ("encoder", *samples.TOPS[kind])
    }
    assert {variable.path: tuple(variable.shape) for variable in model.variables} == wanted
