"""Names of variables in BERT encoders of TensorFlow Hub.

These are the SavedModels of TensorFlow 2 that Model Garden's export_tfhub writes. Their variables
have the names of its Keras layers, as its name-based checkpoints do, so the rows are the same; an
export has no head but the masked LM.
"""

import re

from bert_tf.checkpoints.formats import model_garden_legacy_names

# A variable that tells the casing.
NOT_WEIGHTS = ("do_lower_case",)

# No variable is written twice.
TIED = {}

table = model_garden_legacy_names.table

_HEAD = re.compile(r"(\w+/)?cls/predictions/")


def canonical(name):
    """The name as exports of today spell it; a pre-trainer is `bert` there."""
    match = _HEAD.match(name)
    if match:
        return "bert/cls/predictions/" + name[match.end() :]
    return model_garden_legacy_names.canonical(name)
