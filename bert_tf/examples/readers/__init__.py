"""Readers of the files of tasks: formats (`formats`, `conll`) and what their columns mean.

A task has a layout (`TextLayout`, `TokenLayout`, `ChoiceLayout`, `SquadLayout`);
`layout.read(path, read_label)` gives the examples of a file.
"""

from bert_tf.examples.readers.choice_layout import ChoiceLayout
from bert_tf.examples.readers.formats import ENDINGS, read_header
from bert_tf.examples.readers.labels import LabelReader, any_label, number, one_of, several
from bert_tf.examples.readers.layouts import Columns, Layout, TextLayout, flat, read_all
from bert_tf.examples.readers.squad_layout import SquadLayout
from bert_tf.examples.readers.text_files import expand, file_in, find_file, read_text
from bert_tf.examples.readers.token_layout import TokenLayout

__all__ = [
    "ENDINGS",
    "ChoiceLayout",
    "Columns",
    "LabelReader",
    "Layout",
    "SquadLayout",
    "TextLayout",
    "TokenLayout",
    "any_label",
    "expand",
    "file_in",
    "find_file",
    "flat",
    "number",
    "one_of",
    "read_all",
    "read_header",
    "read_text",
    "several",
]
