"""Exported models of prime sizes, one of each kind; made once."""

import contextlib
import dataclasses
import functools

import numpy as np
import pytest

SENTENCE = "the quick brown fox jumps over a lazy dog ."
TOKENS = (
    ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    + [chr(c) for c in range(ord("a"), ord("z") + 1)]
    + [f"##{chr(c)}" for c in range(ord("a"), ord("z") + 1)]
    + sorted(set(SENTENCE.split()) - set("a"))
)
MAX_SEQ_LENGTH = 31


@dataclasses.dataclass(frozen=True)
class Case:
    """What is exported, and the version that was written."""

    served: object
    exported: object

    @property
    def model(self):
        return self.served.model

    @property
    def directory(self):
        return self.served.directory


@pytest.fixture(autouse=True)
def seeded():
    """The same initial weights in every run, whichever test makes the model."""
    import keras

    keras.utils.set_random_seed(19)


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory):
    """Makes a model directory without weights: `model_directory(kind, num_texts)`."""
    from bert_tf.checkpoints.model_directory import ModelMetadata, create
    from bert_tf.config import BertConfig

    def make(kind, num_texts, **metadata):
        folder = tmp_path_factory.mktemp("model")
        (folder / "tokens.txt").write_text("\n".join(TOKENS) + "\n")
        config = BertConfig(
            vocab_size=len(TOKENS),
            hidden_size=21,
            num_attention_heads=3,
            num_hidden_layers=1,
            intermediate_size=37,
            max_position_embeddings=53,
            initializer_range=0.25,
        )
        labels = ("zero", "one", "two", "three", "vier") if kind == "classify" else ()
        values = {"task": "test", "do_lower_case": True, "max_seq_length": MAX_SEQ_LENGTH}
        values |= {"kind": kind, "num_texts": num_texts, "labels": labels}
        metadata = ModelMetadata(**(values | metadata))
        return create(str(folder / "run"), config, str(folder / "tokens.txt"), metadata)

    return make


@pytest.fixture(scope="session")
def export_case():
    """Exports a model with initial weights: `export_case(directory, base_path)` is a `Case`."""
    from bert_tf.checkpoints.model_directory import new_model
    from export.kinds.module import Served
    from export.version import write

    def export(directory, base_path, signatures=(), **options):
        model = new_model(directory.config, directory.metadata)
        served = Served(
            model=model, directory=directory, max_seq_length=MAX_SEQ_LENGTH, chunk_rows=5, **options
        )
        return Case(served, write.write(served, str(base_path), signatures))

    return export


@pytest.fixture(scope="session")
def loaded_version():
    """`loaded_version(case)`: what `tf.saved_model.load` returns of a case, loaded once."""
    import tensorflow as tf

    load = functools.cache(tf.saved_model.load)
    return lambda case: load(case.exported.path)


@pytest.fixture
def other_weights():
    """`with other_weights(model):` a model has other weights than those that were exported."""

    @contextlib.contextmanager
    def changed(model):
        kept = model.get_weights()
        rng = np.random.default_rng(37)
        model.set_weights([array + rng.normal(0, 0.25, array.shape) for array in kept])
        try:
            yield
        finally:
            model.set_weights(kept)

    return changed


@pytest.fixture(scope="session")
def cases(model_directory, export_case, tmp_path_factory):
    """Dict from (kind, num_texts) to `Case`."""
    import keras

    keras.utils.set_random_seed(13)
    cases = {}
    for kind, num_texts in (("classify", 1), ("classify", 2), ("regress", 2)):
        directory = model_directory(kind, num_texts)
        base_path = tmp_path_factory.mktemp("models") / f"{kind}{num_texts}"
        cases[kind, num_texts] = export_case(directory, base_path)
    return cases


@pytest.fixture(scope="session")
def question_case(model_directory, export_case, tmp_path_factory):
    """A `Case` of a model that answers questions, or says that there is no answer."""
    import keras

    keras.utils.set_random_seed(17)
    settings = {
        "doc_stride": 7,
        "max_query_length": 11,
        "n_best_size": 5,
        "max_answer_length": 4,
        "null_score_diff_threshold": -0.25,
    }
    directory = model_directory("span", 2, task="squad-2.0", settings=settings)
    return export_case(directory, tmp_path_factory.mktemp("models") / "questions")
