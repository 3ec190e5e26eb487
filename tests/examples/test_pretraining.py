"""Rows of every type of examples: their layout, what they are made of, and what they depend on."""

import itertools
import math

import numpy as np
import pytest

from bert_tf.examples import choices
from bert_tf.examples.choices import MaskSettings
from bert_tf.examples.masking import Masker
from bert_tf.examples.pool import Documents, Pool
from bert_tf.examples.pretraining import ExampleMaker, row_dtype
from bert_tf.text.vocab import Vocabulary
from tests.reference.pools import part, random_lengths

SPECIAL = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = Vocabulary([*SPECIAL, *(f"w{number}" for number in range(1009))])
PAD, _, UNK, CLS, SEP, MASK = range(6)
TEXT = range(6, len(VOCABULARY))
CONTINUATIONS = np.frombuffer(VOCABULARY.continuations, bool)
EXAMPLE_TYPES = ("nsp", "sop", "full_sentences", "doc_sentences", "packed")
LENGTH, NUM_PREDICTIONS = 61, 11


def maker(
    example_type="nsp",
    seed=12345,
    granularity="token",
    limit=NUM_PREDICTIONS,
    length=LENGTH,
    mask=True,
):
    settings = MaskSettings(max_predictions_per_seq=limit, granularity=granularity)
    return ExampleMaker(
        vocabulary=VOCABULARY,
        masker=Masker(VOCABULARY, settings) if mask else None,
        example_type=choices.EXAMPLE_TYPES[example_type],
        max_seq_length=length,
        short_seq_prob=0.1,
        random_seed=seed,
    )


def documents_of(seed, num_documents, group_starts=None):
    """`Documents` of random words in sentences of 1 to 13 tokens."""
    found = part(random_lengths(seed, num_documents, (2, 11), (1, 13)))
    ids = np.random.default_rng(seed).integers(TEXT.start, TEXT.stop, len(found.ids))
    return found._replace(ids=ids.astype(np.int32), group_starts=group_starts)


def pool_of(*parts):
    pool = Pool(parts, CONTINUATIONS)
    pool.prepare_random_texts()
    return pool


POOL = pool_of(documents_of(1, 31), documents_of(2, 97), documents_of(3, 7))


def made(example_type, part=1, key=(0, 5), pass_number=0, pool=POOL, **kwargs):
    return np.concatenate(list(maker(example_type, **kwargs).rows(pool, part, key, pass_number)))


def restored(row):
    """The ids of a row as they stood before masking, without padding."""
    ids = row["word_ids"].copy()
    count = row["num_predictions"]
    ids[row["positions"][:count]] = row["labels"][:count]
    return ids[: row["num_tokens"]].tolist()


def separated(row):
    """The texts of a row as they stood before masking, lists of ids."""
    ids = restored(row)
    ends = [place for place, word_id in enumerate(ids) if word_id == SEP]
    found = [ids[start + 1 : end] for start, end in zip([0, *ends], ends, strict=False)]
    return [each[1:] if each[:1] == [CLS] else each for each in found]


def ids_of_documents(pool, part):
    """Lists of ids of the documents of a part of a pool."""
    found = []
    for document in range(*pool.first_documents[part : part + 2]):
        sentences = pool.first_sentences[document : document + 2]
        start, end = (pool.bounds[sentence] for sentence in sentences)
        found.append(pool.ids[start:end].tolist())
    return found


def occurs_in(text, ids):
    return any(ids[start : start + len(text)] == text for start in range(len(ids)))


@pytest.mark.parametrize("example_type", EXAMPLE_TYPES)
def test_special_tokens_lengths_and_padding(example_type):
    rows = made(example_type)
    assert rows.dtype == maker(example_type).row_dtype
    for row in rows:
        ids = restored(row)
        num_sep = ids.count(SEP)
        assert ids[0] == CLS
        assert ids[-1] == SEP
        assert not row["word_ids"][row["num_tokens"] :].any()
        assert PAD not in ids
        assert all(separated(row))
        if example_type in ("nsp", "sop"):
            assert num_sep == 2
            assert row["num_type_a"] == ids.index(SEP) + 1
            assert row["pair_label"] in (0, 1)
        else:
            assert row["num_type_a"] == row["num_tokens"]
            assert row["pair_label"] == -1
        if example_type == "doc_sentences":
            assert num_sep == 1
        # Only packed rows have more than one [CLS], and then one behind every [SEP] but the last.
        is_start = [place == 0 or (example_type == "packed" and ids[place - 1] == SEP)
                    for place in range(len(ids))]  # fmt: skip
        assert [word_id == CLS for word_id in ids] == is_start
        assert row["num_sequences"] == ids.count(CLS)
    if example_type in ("full_sentences", "packed"):
        assert max(restored(row).count(SEP) for row in rows) > 2


@pytest.mark.parametrize("example_type", EXAMPLE_TYPES)
def test_predictions(example_type):
    for row in made(example_type):
        count = row["num_predictions"]
        positions, labels = row["positions"], row["labels"]
        num_text = sum(map(len, separated(row)))
        wanted = math.floor(0.15 * num_text)  # or one more
        assert count in {min(max(1, each), NUM_PREDICTIONS) for each in (wanted, wanted + 1)}
        assert count == NUM_PREDICTIONS or not row["is_capped"]
        assert row["is_capped"] or wanted <= NUM_PREDICTIONS
        assert sorted(set(positions[:count])) == positions[:count].tolist()
        assert not positions[count:].any()
        assert not labels[count:].any()
        assert all(label in TEXT for label in labels[:count])


@pytest.mark.parametrize("example_type", EXAMPLE_TYPES)
def test_without_a_masker_rows_are_those_before_masking(example_type):
    masked, plain = made(example_type), made(example_type, mask=False)
    assert plain.dtype["positions"].shape == plain.dtype["labels"].shape == (0,)
    assert [row["word_ids"][: row["num_tokens"]].tolist() for row in plain] == [
        restored(row) for row in masked
    ]
    for name in ("num_tokens", "num_type_a", "pair_label", "num_sequences"):
        assert (plain[name] == masked[name]).all()
    assert not plain["num_predictions"].any()
    assert not plain["is_capped"].any()


@pytest.mark.parametrize("example_type", ["nsp", "sop", "full_sentences"])
def test_passes_differ_without_masks(example_type):
    first, second = (made(example_type, mask=False, pass_number=number) for number in (0, 1))
    size = min(len(first), len(second))
    assert (first["word_ids"][:size] != second["word_ids"][:size]).any(axis=1).mean() > 0.9


@pytest.mark.parametrize("example_type", EXAMPLE_TYPES)
def test_texts_are_those_of_the_documents(example_type):
    documents = [ids for number in (1, 0, 2) for ids in ids_of_documents(POOL, number)]
    own = set(range(len(ids_of_documents(POOL, 1))))
    for row in made(example_type):
        sources = [
            {number for number, ids in enumerate(documents) if occurs_in(text, ids)}
            for text in separated(row)
        ]
        assert sources[0] & own
        assert all(sources)
        if example_type != "nsp":
            assert all(source & own for source in sources)
        # Texts of four tokens are the same by chance once in 1009**4.
        elif min(map(len, separated(row))) > 3:
            assert sources[0].isdisjoint(sources[1]) == row["pair_label"]
        if example_type == "sop":
            assert sources[0] & sources[1]


@pytest.mark.parametrize("example_type", ["full_sentences", "doc_sentences", "packed"])
def test_single_sequences_hold_every_token_once(example_type):
    tokens = sorted(word_id for row in made(example_type) for t in separated(row) for word_id in t)
    assert tokens == sorted(itertools.chain.from_iterable(ids_of_documents(POOL, 1)))


@pytest.mark.parametrize("example_type", ["nsp", "sop"])
def test_half_of_the_pairs_have_label_1(example_type):
    labels = np.concatenate([made(example_type, pass_number=n)["pair_label"] for n in range(31)])
    assert len(labels) > 2000
    assert abs(labels.sum() - len(labels) / 2) < 4 * math.sqrt(len(labels) / 4)


@pytest.mark.parametrize("example_type", EXAMPLE_TYPES)
def test_rows_do_not_depend_on_what_was_drawn_before(example_type):
    """Nor on the place of the part in the pool."""
    one = maker(example_type)
    forwards = [np.concatenate(list(one.rows(POOL, n, (0, n), 0))) for n in (0, 1, 2)]
    backwards = [np.concatenate(list(one.rows(POOL, n, (0, n), 0))) for n in (2, 1, 0)]
    for first, second in zip(forwards, backwards[::-1], strict=True):
        assert first.tobytes() == second.tobytes()
    if example_type != "nsp":  # random texts come from the pool
        alone = Pool([documents_of(2, 97)], CONTINUATIONS)
        found = made(example_type, part=0, key=(0, 1), pool=alone)
        assert found.tobytes() == forwards[1].tobytes()


@pytest.mark.parametrize("example_type", EXAMPLE_TYPES)
@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"pass_number": 1}, {"key": (0, 6)}, {"key": (5, 0)}]
)
def test_other_arguments_other_draws(example_type, other):
    base, others = made(example_type), made(example_type, **other)
    assert base.tobytes() == made(example_type).tobytes()
    size = min(len(base), len(others))
    assert (base["positions"][:size] != others["positions"][:size]).any(axis=1).mean() > 0.9


def test_parts_without_documents_have_no_rows():
    empty = Documents(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
    pool = pool_of(documents_of(1, 3), empty)
    for example_type in EXAMPLE_TYPES:
        assert list(maker(example_type).rows(pool, 1, (0, 1), 0)) == []


def test_rows_come_in_blocks_that_do_not_show(monkeypatch):
    """Bits for masking are read on from block to block, so only the first block is the same."""
    whole = made("doc_sentences")
    monkeypatch.setattr("bert_tf.examples.pretraining._BLOCK_ROWS", 7)
    blocks = list(maker("doc_sentences").rows(POOL, 1, (0, 5), 0))
    assert {len(block) for block in blocks[:-1]} == {7}
    assert [restored(row) for block in blocks for row in block] == [restored(row) for row in whole]


@pytest.mark.parametrize("example_type", EXAMPLE_TYPES)
def test_groups_of_the_corpus_are_masked_as_a_whole(example_type):
    """Runs of equal ids are groups; none is split between predicted tokens and others."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 5, 4001)
    # Neighbours differ by 1 to 500 modulo 1009, so a run is a group.
    steps = rng.integers(1, 500, len(lengths)).cumsum() % 1009 + TEXT.start
    ids = np.repeat(steps, lengths).astype(np.int32)
    group_starts = np.zeros(len(ids), bool)
    group_starts[np.cumsum(lengths) - lengths] = True
    sentence_ends = np.cumsum(lengths)[4::5]  # five groups per sentence
    ids, group_starts = ids[: sentence_ends[-1]], group_starts[: sentence_ends[-1]]
    document_ends = np.arange(20, len(sentence_ends) + 1, 20)
    ends = sentence_ends[: document_ends[-1]]
    documents = Documents(ids[: ends[-1]], ends, document_ends, group_starts[: ends[-1]])
    pool = pool_of(documents, documents)
    num_long = 0
    for row in made(example_type, pool=pool, granularity="span"):
        original = restored(row)
        count = row["num_predictions"]
        chosen = set(row["positions"][:count].tolist())
        assert 1 <= count <= NUM_PREDICTIONS
        place = 0
        for word_id, run in itertools.groupby(original):
            size = len(list(run))
            found = chosen & set(range(place, place + size))
            assert len(found) in (0, size)
            num_long += len(found) > 1
            # All of them are masked, replaced or kept.
            masked = {bool(row["word_ids"][p] == MASK) for p in found}
            assert len(masked) <= 1
            assert not found or word_id in TEXT
            place += size
    assert num_long > 100


def test_texts_cut_in_front_start_with_a_unit():
    """Sentences of one group of three tokens each: 3, 3, ... may be cut in front only there."""
    num_sentences, size = 600, 3
    ids = np.repeat(np.arange(num_sentences * 3) % 1009 + TEXT.start, size).astype(np.int32)
    group_starts = np.arange(len(ids)) % size == 0
    ends = np.arange(1, num_sentences + 1) * 9
    documents = Documents(ids, ends, np.array([300, 600]), group_starts)
    rows = made("sop", part=0, pool=pool_of(documents), granularity="span", length=30)
    assert len(rows) > 100
    for row in rows:
        for text in separated(row):
            assert len(text) < size or text[0] == text[1] == text[2]


def test_rows_without_text_that_could_be_predicted():
    """Nothing but [UNK]: rows without predictions."""
    lengths = [[7] * 11] * 3
    documents = part(lengths)
    unknown = documents._replace(ids=np.full(len(documents.ids), UNK, np.int32))
    for example_type in EXAMPLE_TYPES:
        rows = made(example_type, part=0, pool=pool_of(unknown))
        assert len(rows)
        assert not rows["num_predictions"].any()
        assert not rows["is_capped"].any()
        assert not rows["labels"].any()


@pytest.mark.parametrize("example_type", EXAMPLE_TYPES)
def test_the_shortest_rows(example_type):
    """Five positions: a token for each text of a pair, or three of one text."""
    sentence = 1 if example_type in ("nsp", "sop") else 3
    documents = part([[sentence] * 5] * 3)
    pool = pool_of(documents._replace(ids=np.arange(len(documents.ids), dtype=np.int32) + 6))
    rows = made(example_type, part=0, pool=pool, length=5, limit=1)
    assert set(rows["num_tokens"]) == {5}
    assert set(rows["num_predictions"]) == {1}
    assert all(len(restored(row)) == 5 for row in rows)


@pytest.mark.parametrize(
    ("max_seq_length", "vocab_size", "place", "word_id"),
    [
        (128, 30522, "<u2", "<u2"),
        (65535, 65536, "<u2", "<u2"),
        (65536, 65537, "<u4", "<u4"),
    ],
)
def test_types_hold_every_place_and_id(max_seq_length, vocab_size, place, word_id):
    found = row_dtype(max_seq_length, 7, vocab_size)
    assert found["word_ids"].base == found["labels"].base == word_id
    assert found["word_ids"].shape == (max_seq_length,)
    assert found["positions"].shape == found["labels"].shape == (7,)
    for name in ("num_tokens", "num_type_a", "num_predictions", "num_sequences"):
        assert found[name] == place
    assert found["positions"].base == place
    assert found["pair_label"] == "i1"  # -1 without a pair
