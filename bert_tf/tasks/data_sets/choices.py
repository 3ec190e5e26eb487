"""Multiple choice: SWAG (arXiv 1808.05326) and HellaSwag (arXiv 1905.07830), Zellers et al."""

from bert_tf.examples.readers import ChoiceLayout
from bert_tf.tasks.kinds.choice import Choice
from bert_tf.tasks.task import Task

TASKS: dict[str, Task] = {
    "swag": Choice(
        name="swag",
        summary="Which of four endings continues the description of a video?",
        layout=ChoiceLayout(
            context=("sent1",),
            stem="sent2",
            choices=("ending0", "ending1", "ending2", "ending3"),
            label="label",
            alternatives=(
                # The full files have no positions, and a fourth wrong ending that the others lack.
                ChoiceLayout(
                    context=("sent1",),
                    stem="sent2",
                    choices=("distractor-0", "distractor-1", "distractor-2"),
                    right_choice="gold-ending",
                ),
            ),
        ),
        files={
            "train": {"": ("train.csv", "train_full.csv")},
            "dev": {"": ("val.csv", "val_full.csv")},
            "test": {"": "test.csv"},
        },
    ),
    "hellaswag": Choice(
        name="hellaswag",
        summary="The same of descriptions of what somebody does.",
        layout=ChoiceLayout(
            context=("ctx_a",), stem="ctx_b", choices=("endings",), label="label", row_id="ind"
        ),
        files={
            "train": {"": "hellaswag_train.jsonl"},
            "dev": {"": "hellaswag_val.jsonl"},
            "test": {"": "hellaswag_test.jsonl"},
        },
    ),
}
