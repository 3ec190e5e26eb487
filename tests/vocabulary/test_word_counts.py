import collections
import gzip
import json
import random

import pytest

from bert_tf.errors import InputError
from bert_tf.options import LearnVocabulary
from bert_tf.vocabulary import word_counts
from tests.reference import full_tokenizer, text_samples

BOTH_CASINGS = pytest.mark.parametrize("do_lower_case", [True, False])


def options(**changes):
    given = {"input_file": "i", "output_file": "o", "num_workers": 1}
    return LearnVocabulary(**given | changes)


def count(paths, max_words=97, max_words_in_memory=97, **changes):
    return word_counts.count(
        [str(path) for path in paths], options(**changes), max_words, max_words_in_memory
    )


@pytest.fixture
def write(tmp_path):
    def write_file(name, data):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write_file


@BOTH_CASINGS
def test_words_are_those_of_the_released_tokenizer(do_lower_case):
    texts = list(text_samples.strings(random.Random(31), 2003))
    expected = collections.Counter()
    for text in texts:
        expected.update(full_tokenizer.split_into_words(text, do_lower_case))
    expected = {word: count for word, count in expected.items() if len(word) <= 200}
    assert word_counts.count_texts(texts, do_lower_case) == expected


@BOTH_CASINGS
def test_bytes_count_as_the_text_they_hold(do_lower_case):
    data = list(text_samples.invalid_utf8(random.Random(37), 1009))
    texts = [text.decode("utf-8", "ignore") for text in data]
    assert word_counts.count_texts(data, do_lower_case) == word_counts.count_texts(
        texts, do_lower_case
    )


def test_keeps_half_of_a_surrogate_pair():
    assert word_counts.count_texts(["a\ud800b a"], True) == {"a\ud800b": 1, "a": 1}


def test_words_come_by_count_then_by_text(write):
    counted = count([write("a.txt", "d b b.\nc\n\nB\rÉ c a")])
    assert list(counted.counts.items()) == [("b", 3), ("c", 2)] + [(c, 1) for c in ".ade"]
    assert counted.num_words == 9
    assert counted.num_bytes == 18


def test_keeps_the_most_frequent_words_and_tells_what_that_leaves_out(write):
    counted = count([write("a.txt", "d b b b c c a")], max_words=3)
    assert counted.counts == {"b": 3, "c": 2, "a": 1}
    assert (counted.num_words, counted.num_left_out) == (7, 1)


@pytest.mark.parametrize("max_words_in_memory", [1, 7, 43])
def test_sums_on_disk_are_the_same(write, max_words_in_memory):
    rng = random.Random(41)
    words = [f"{rng.choice('aé北')}{rng.randrange(53)}" for _ in range(3001)]
    paths = [write(f"{at}.txt", " ".join(words[at : at + 131])) for at in range(0, len(words), 131)]
    in_memory = count(paths, max_words_in_memory=10**6)
    on_disk = count(paths, max_words_in_memory=max_words_in_memory)
    assert list(on_disk.counts.items()) == list(in_memory.counts.items())
    assert on_disk == in_memory


def test_sums_on_disk_hold_half_of_a_surrogate_pair(write):
    paths = [write(f"{i}.jsonl", json.dumps({"text": "\ud800a b"})) for i in range(3)]
    summed = count(paths, max_words_in_memory=1).counts
    assert summed == count(paths).counts
    assert summed["b"] == 3


def test_neither_workers_nor_the_order_of_files_change_anything(write):
    rng = random.Random(43)
    paths = []
    for number in range(3):
        lines = (rng.choice(["un affable", "Fox", "jumps over", ""]) for _ in range(211))
        paths.append(write(f"{number}.txt", "\n".join(lines)))
    alone = count(paths)
    for workers, order in ((1, paths[::-1]), (2, paths), (2, paths[::-1])):
        counted = count(order, num_workers=workers)
        assert list(counted.counts.items()) == list(alone.counts.items())


def test_reads_the_formats_of_the_data_builder(write):
    text = "One fox. Two foxes.\n\nThree!"
    lines = json.dumps({"body": text}) + "\n" + json.dumps({"body": "fox"})
    expected = count([write("a.txt", text + " fox")]).counts
    assert count([write("a.txt.gz", gzip.compress(text.encode() + b" fox"))]).counts == expected
    assert count([write("a.jsonl", lines)], text_field="body").counts == expected
    assert count([write("b.txt", text + " fox")], input_format="text").counts == expected


def test_refuses_text_without_a_word(write):
    path = write("a.txt", " \n\n\u200b\n")
    with pytest.raises(InputError, match=r"a\.txt: the text has no word to learn from"):
        count([path])


def test_errors_of_workers_arrive(write):
    paths = [write(f"{i}.jsonl", '{"text": "a"}\n' * (1 + i) + '{"no": 1}') for i in range(5)]
    with pytest.raises(InputError, match=r"0\.jsonl:2 has no field 'text'"):
        count(paths, num_workers=2)
