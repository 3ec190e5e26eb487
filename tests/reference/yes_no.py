"""A kind of task that the product does not have: is the answer yes? One output, through a sigmoid.

What it took to add it: this file, and the row `ROW` in the table of kinds.
"""

import dataclasses

import numpy as np

from bert_tf import features
from bert_tf.checkpoints.kinds import Kind
from bert_tf.tasks import metrics, predictions
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.kinds.text_task import TextTask

ROW = Kind(
    "yes_no",
    "Yes or no",
    model="bert_tf.modeling.models:ClassifierModel",
    task="tests.reference.yes_no:YesNo",
    heads=("classifier",),
    has_num_classes=True,
    has_single_output=True,
    reads_pooler=True,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class YesNo(TextTask):
    kind = "yes_no"
    answers = metrics.LABELS
    metrics: tuple[str, ...] = ("accuracy",)

    def read_label(self, cell):
        if cell not in ("yes", "no"):
            raise ValueError(f"label {cell!r} is neither yes nor no")
        return cell

    def label_features(self, examples):
        values = [float(example.label == "yes") for example in examples]
        return {features.LABEL_VALUES.name: np.array(values, np.float32)}

    def measure(self, outputs, batch):
        from bert_tf.modeling import losses

        values = batch[features.LABEL_VALUES.name]
        return {"loss": losses.multi_label(outputs["logits"], values[:, None])}

    def evaluate(self, examples, rows, logits):
        is_yes = np.array([example.label == "yes" for example in examples])
        return Evaluation(metrics.evaluate(self.metrics, self._is_yes(logits), is_yes))

    def write_predictions(self, directory, suffix, examples, rows, logits):
        answers = np.where(self._is_yes(logits), "yes", "no")
        return predictions.write(directory, suffix, examples, answers, np.stack(logits), ["yes"])

    def answer(self, logits):
        return {"is_yes": logits[:, 0] > 0}

    def _is_yes(self, logits):
        return np.stack(logits)[:, 0] > 0
