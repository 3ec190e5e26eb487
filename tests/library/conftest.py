"""Tiny models on disk, under the names that docs/library.md uses."""

import pytest

WORDS = (
    "how are you fine a cat sits on the mat rain is expected good bad so paris of france".split()
)
PUNCTUATION = list(".,?![]")
TOKENS = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *PUNCTUATION]
TOKENS += [chr(c) for c in range(ord("b"), ord("z") + 1)]
TOKENS += [f"##{chr(c)}" for c in range(ord("a"), ord("z") + 1)]
TOPICS = ("music", "space", "sport")


def config(**changes):
    """A BERT of small prime sizes."""
    from bert_tf.config import BertConfig

    values = {
        "vocab_size": len(TOKENS),
        "hidden_size": 14,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "intermediate_size": 37,
        "max_position_embeddings": 61,
        "initializer_range": 0.3,
    }
    return BertConfig(**values | changes)


@pytest.fixture(scope="session")
def released(tmp_path_factory):
    """`released(**changes)`: a directory as Google released them, with the pre-training heads."""
    from bert_tf import checkpoints
    from bert_tf.modeling.models import PretrainingModel

    def make(**changes):
        folder = tmp_path_factory.mktemp("released") / "bert"
        checkpoints.save(PretrainingModel(config(**changes)), folder)
        (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
        return folder

    return make


@pytest.fixture(scope="session")
def bert(released):
    """The directory of a pre-trained model."""
    import keras

    keras.utils.set_random_seed(5)
    return released()


@pytest.fixture(scope="session")
def trained(bert, tmp_path_factory):
    """`trained(kind, num_texts)`: an --output_dir with the random weights of such a model."""
    from bert_tf import checkpoints
    from bert_tf.checkpoints import model_directory

    def make(kind, num_texts=1, **values):
        metadata = model_directory.ModelMetadata(
            kind=kind,
            num_texts=num_texts,
            do_lower_case=True,
            max_seq_length=31,
            **{"task": "test", "labels": TOPICS if kind == "classify" else ()} | values,
        )
        folder = str(tmp_path_factory.mktemp("runs") / kind)
        directory = model_directory.create(folder, config(), bert / "vocab.txt", metadata)
        model = model_directory.new_model(directory.config, metadata)
        checkpoints.save(model, f"{folder}/last")
        return directory

    return make


@pytest.fixture(scope="session")
def topics(trained):
    """The --output_dir of a classifier."""
    return trained("classify")


@pytest.fixture(scope="session")
def export_of(tmp_path_factory):
    """`export_of(directory, name)`: exports a model, and gives the base path."""
    from export.kinds.module import Served
    from export.version import write

    def make(directory, name):
        folder = tmp_path_factory.mktemp("models") / name
        served = Served(
            model=directory.build_model(), directory=directory, max_seq_length=31, chunk_rows=5
        )
        write.write(served, str(folder))
        return folder

    return make


@pytest.fixture(scope="session")
def exported(topics, export_of):
    """The base path of an export of `topics`."""
    return export_of(topics, "topics")
