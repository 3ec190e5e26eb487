"""The options of each script: one frozen dataclass of flags per script.

Names and defaults are those of the released scripts, so that every published command line
works; a flag that the release lacks has "(new)" in its help. The checks that need no file run
when the options are made.
"""

from bert_tf.options.data import InspectRecords, LearnVocabulary, PretrainingData, TextInput
from bert_tf.options.devices import Devices
from bert_tf.options.extraction import FeatureExtraction
from bert_tf.options.finetuning.grid import GridSearch
from bert_tf.options.finetuning.questions import QuestionAnswering
from bert_tf.options.finetuning.scripts import (
    Classifier,
    FineTuning,
    TaskTraining,
    TextClassification,
)
from bert_tf.options.pretraining import PreTraining
from bert_tf.options.question_sets import QuestionSet
from bert_tf.options.submission import Submission
from bert_tf.options.training import Training

__all__ = [
    "Classifier",
    "Devices",
    "FeatureExtraction",
    "FineTuning",
    "GridSearch",
    "InspectRecords",
    "LearnVocabulary",
    "PreTraining",
    "PretrainingData",
    "QuestionAnswering",
    "QuestionSet",
    "Submission",
    "TaskTraining",
    "TextClassification",
    "TextInput",
    "Training",
]
