"""Flags of `bert-tf questions`."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.options.checks import require_positive

_ONLY_OF = {
    "triviaqa": ("evidence_dir", "max_context_words"),
    "natural_questions": ("context", "keep_unanswerable"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionSet:
    """A set of questions in its original layout, and the file in SQuAD's layout to make of it."""

    layout: str = option(
        REQUIRED,
        "(new) triviaqa: a file of TriviaQA's folder qa. natural_questions: the simplified JSON "
        "lines of Natural Questions.",
        choices=tuple(_ONLY_OF),
    )
    input_file: str = option(
        REQUIRED, "(new) The file of questions; plain, .gz, .bz2 or .zst.", is_path=True
    )
    output_file: str = option(
        REQUIRED,
        "(new) The file to write in SQuAD's layout; compressed if its name ends in .gz.",
        is_path=True,
    )
    evidence_dir: str | None = option(
        None,
        "(new) TriviaQA's folder evidence, which holds the folders wikipedia and web.",
        is_path=True,
    )
    max_context_words: int = option(
        400,
        "(new) Words of a document of TriviaQA that are kept, as white space separates them: the "
        "paper's first 400 tokens.",
    )
    context: str = option(
        "long_answer",
        "(new) What a question of Natural Questions is asked of. long_answer: the paragraph, table "
        "or list that answers it; document: the whole page.",
        choices=("long_answer", "document"),
    )
    keep_unanswerable: bool = option(
        True,
        "(new) Keep questions of Natural Questions without a short answer as unanswerable, which "
        "SQuAD 2.0 has; false: leave them out, as SQuAD 1.1 needs it.",
    )

    def __post_init__(self) -> None:
        require_positive(self, "max_context_words")
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for layout, names in _ONLY_OF.items():
            given = [name for name in names if getattr(self, name) != defaults[name]]
            if given and layout != self.layout:
                raise InputError(
                    f"--{given[0]} is for --layout={layout}, and this is --layout={self.layout}. "
                    "Leave it out."
                )
        if self.layout == "triviaqa" and not self.evidence_dir:
            raise InputError(
                "--layout=triviaqa needs --evidence_dir, the folder evidence of TriviaQA: its "
                "question files name documents there."
            )

    @property
    def may_be_unanswerable(self) -> bool:
        """Whether the output is in the layout of SQuAD 2.0, not of 1.1."""
        return self.layout == "natural_questions" and self.keep_unanswerable
