"""Data sets in other languages than English, or in several.

XNLI (Conneau et al. 2018, arXiv 1809.05053) and PAWS-X (Yang et al. 2019, arXiv 1908.11828) train
on English and have a dev and a test set for each language: scores of languages that training has
not seen. XNLI-de and the like train on a translation and have sets of that language alone, as
google-research/bert does for Chinese. Files are those that the authors released, or XTREME's.
"""

from collections.abc import Callable, Sequence

from bert_tf.examples.readers import Columns, TextLayout
from bert_tf.tasks.kinds.classification import Classification
from bert_tf.tasks.set_files import Files
from bert_tf.tasks.task import Task

_XNLI_LANGUAGES = "en ar bg de el es fr hi ru sw th tr ur vi zh".split()
_PAWS_X_LANGUAGES = "en de es fr ja ko zh".split()


def _files(
    train: str, languages: Sequence[str], names: Callable[[str, str], tuple[str, ...]]
) -> Files:
    """Train files of a language, and a dev and a test set for each of several."""
    sets = {split: {each: names(split, each) for each in languages} for split in ("dev", "test")}
    return {"train": {"": names("train", train)}, **sets}


def _xnli_names(split: str, language: str) -> tuple[str, ...]:
    if split == "train":
        name = f"multinli.train.{language}.tsv"
        return f"multinli/{name}", f"XNLI-MT-1.0/multinli/{name}", name, f"train-{language}.tsv"
    name = f"xnli.{split}.tsv"
    return f"{split}-{language}.tsv", name, f"XNLI-1.0/{name}"


def _paws_x_names(split: str, language: str) -> tuple[str, ...]:
    stem = "translated_train" if split == "train" else f"{split}_2k"
    folders = f"{language}/", f"x-final/{language}/"
    found = [f"{split}-{language}.tsv", *(f"{folder}{stem}.tsv" for folder in folders)]
    if (split, language) == ("train", "en"):
        found += [f"{folder}train.tsv" for folder in folders]
    return tuple(found)


_PAIR_WITH_LABEL = Columns(text_a=0, text_b=1, label=2)
# XTREME: rows without a header; test files may lack the labels.
_XTREME = (
    TextLayout(columns=_PAIR_WITH_LABEL, test_columns=_PAIR_WITH_LABEL),
    TextLayout(columns=_PAIR_WITH_LABEL, test_columns=Columns(text_a=0, text_b=1)),
)
_XNLI_COLUMNS = Columns(text_a="sentence1", text_b="sentence2", label="gold_label")
_MULTINLI_COLUMNS = Columns(text_a="premise", text_b="hypo", label="label")
_PAWS_X_COLUMNS = Columns(text_a="sentence1", text_b="sentence2", label="label", row_id="id")


def _xnli(name: str, train: str, languages: Sequence[str]) -> Classification:
    return Classification(
        name=name,
        summary="MNLI's question in 15 languages; xnli-de and so on: in one.",
        labels=("contradiction", "entailment", "neutral"),
        layout=TextLayout(
            columns=_XNLI_COLUMNS,
            test_columns=_XNLI_COLUMNS,
            set_column="language",
            alternatives=(
                TextLayout(
                    columns=_MULTINLI_COLUMNS,
                    test_columns=_MULTINLI_COLUMNS,
                    renamed_labels={"contradictory": "contradiction"},
                ),
                *_XTREME,
            ),
        ),
        files=_files(train, languages, _xnli_names),
    )


def _paws_x(name: str, train: str, languages: Sequence[str]) -> Classification:
    return Classification(
        name=name,
        summary="MRPC's question in 7 languages; paws-x-de and so on: in one.",
        labels=("0", "1"),
        layout=TextLayout(
            columns=_PAWS_X_COLUMNS, test_columns=_PAWS_X_COLUMNS, alternatives=_XTREME
        ),
        files=_files(train, languages, _paws_x_names),
    )


TASKS: dict[str, Task] = {
    "xnli": _xnli("xnli", "en", _XNLI_LANGUAGES),
    "paws-x": _paws_x("paws-x", "en", _PAWS_X_LANGUAGES),
    "chnsenticorp": Classification(
        name="chnsenticorp",
        summary="Is the Chinese review of a hotel, a laptop or a book positive?",
        labels=("negative", "positive"),
        layout=TextLayout(
            columns=Columns(text_a="text_a", label="label"),
            test_columns=Columns(text_a="text_a", row_id="qid"),
            renamed_labels={"0": "negative", "1": "positive"},  # of copies with a header
            alternatives=(
                TextLayout(
                    columns=Columns(text_a=0, label=1), test_columns=Columns(text_a="text_a")
                ),
            ),
        ),
    ),
    "lcqmc": Classification(
        name="lcqmc",
        summary="Do the two Chinese questions ask the same?",
        labels=("0", "1"),
        layout=TextLayout(
            columns=Columns(text_a="text_a", text_b="text_b", label="label"),
            test_columns=Columns(text_a="text_a", text_b="text_b", label="label"),
            alternatives=_XTREME,
        ),
        files={split: {"": (f"{split}.txt", f"{split}.tsv")} for split in ("train", "dev", "test")},
    ),
}
_OF_A_LANGUAGE = {
    **{f"xnli-{each}": (_xnli, each) for each in _XNLI_LANGUAGES},
    **{f"paws-x-{each}": (_paws_x, each) for each in _PAWS_X_LANGUAGES},
}


def in_language(name: str) -> Task | None:
    """The task "xnli-de" or the like: trained and scored in one language; None for other names."""
    key = name.strip().lower().replace("_", "-").replace("pawsx", "paws-x")
    if key not in _OF_A_LANGUAGE:
        return None
    make, language = _OF_A_LANGUAGE[key]
    return make(key, language, [language])
