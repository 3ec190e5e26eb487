import errno
import itertools
import os
import pathlib
import random
import re
import subprocess
import sys
import unicodedata

import pytest

from bert_tf import flagging
from bert_tf.errors import DiskFullError, InputError
from bert_tf.options import LearnVocabulary
from bert_tf.text import vocab
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.wordpiece import WordPieceTokenizer, split_into_words
from bert_tf.vocabulary import learn as learn_vocab
from tests.reference import full_tokenizer, text_samples

ROOT = pathlib.Path(__file__).parents[2]
BOTH_CASINGS = pytest.mark.parametrize("do_lower_case", [True, False])
TEXT = "The quick brown foxes jumped.\nThe quicker fox jumps!\n\nFoxes, quickly: jumping quiet\n"


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT * 3, encoding="utf-8")
    return path


@pytest.fixture
def learn(corpus, tmp_path, capsys):
    """Runs the tool in this process; returns the lines of the vocabulary."""

    def run(**changes):
        given = {"input_file": str(corpus), "output_file": str(tmp_path / "vocab.txt")}
        given |= {"vocab_size": 71, "num_unused": 7, "num_workers": 1}
        options = LearnVocabulary(**given | changes)
        learn_vocab.main(options)
        run.output = capsys.readouterr().out
        return pathlib.Path(options.output_file).read_text(encoding="utf-8").split("\n")[:-1]

    return run


def test_a_full_disk_is_one_message_and_leaves_the_file_of_before(learn, tmp_path, monkeypatch):
    (tmp_path / "vocab.txt").write_text("before")

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(os, "fsync", full)  # where some file systems say it first
        wanted = rf"disk is full \({tmp_path}/vocab.txt\). No vocabulary was written;.*same command"
        with pytest.raises(DiskFullError, match=wanted):
            learn()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.txt", "vocab.txt"]
    assert (tmp_path / "vocab.txt").read_text() == "before"
    assert len(learn()) == 71


def test_reserved_tokens_are_those_of_the_released_vocabularies():
    """The ids were read off the released uncased and cased files."""
    uncased = learn_vocab.reserved_tokens(994, do_lower_case=True)
    cased = learn_vocab.reserved_tokens(101, do_lower_case=False)
    assert len(uncased) == 999
    assert len(cased) == 106
    for tokens in (uncased, cased):
        assert tokens[0] == "[PAD]"
        assert tokens[100:104] == ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert (uncased[1], uncased[99], uncased[104], uncased[998]) == (
        ("[unused0]", "[unused98]", "[unused99]", "[unused993]")
    )
    assert (cased[1], cased[99], cased[104], cased[105]) == (
        ("[unused1]", "[unused99]", "[unused100]", "[unused101]")
    )
    assert learn_vocab.reserved_tokens(0, do_lower_case=True) == list(vocab.SPECIAL_TOKENS)


@pytest.mark.parametrize(("do_lower_case", "num_reserved"), [(True, 999), (False, 106)])
def test_has_as_many_slots_as_released_unless_told(learn, do_lower_case, num_reserved):
    tokens = learn(num_unused=None, vocab_size=num_reserved + 61, do_lower_case=do_lower_case)
    assert tokens[:num_reserved] == learn_vocab.reserved_tokens(num_reserved - 5, do_lower_case)
    assert not any(token.startswith("[") for token in tokens[num_reserved:])


@pytest.mark.parametrize("vocab_size", [62, 67, 71])
def test_writes_exactly_the_size_asked(learn, vocab_size):
    assert len(learn(vocab_size=vocab_size)) == vocab_size
    assert f"{vocab_size} tokens, of which 12 special and [unused]" in learn.output


@BOTH_CASINGS
def test_every_word_of_the_text_has_tokens_and_the_casing_fits(learn, corpus, do_lower_case):
    sample = [text.replace("\n", " ") for text in text_samples.strings(random.Random(47), 499)]
    text = "\n".join(sample).encode("utf-8", "ignore").decode()
    corpus.write_text(text, encoding="utf-8", newline="\n")
    learn(vocab_size=3001, num_unused=2, min_frequency=1, do_lower_case=do_lower_case)
    vocabulary = vocab.from_file(str(corpus.parent / "vocab.txt"))
    vocab.check_casing(vocabulary, do_lower_case)
    words = full_tokenizer.split_into_words(text, do_lower_case)
    cuts = {word: full_tokenizer.cut(word, vocabulary.ids) for word in words if len(word) <= 200}
    assert [word for word, cut in cuts.items() if "[UNK]" in cut] == []


def test_lower_cased_words_have_no_character_that_lower_case_changes():
    chars = map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000)))
    changed = (c for c in chars if c != c.lower() or c != unicodedata.normalize("NFD", c))
    assert [c for c in changed if any(w != w.lower() for w in split_into_words(c, True))] == []


@BOTH_CASINGS
def test_both_tokenizers_reach_every_token(learn, corpus, do_lower_case):
    sample = text_samples.strings(random.Random(53), 199)
    corpus.write_text("\n".join(sample) + TEXT, encoding="utf-8", errors="ignore")
    learn(vocab_size=1499, num_unused=2, min_frequency=1, do_lower_case=do_lower_case)
    vocabulary = vocab.from_file(str(corpus.parent / "vocab.txt"))
    tokenizer = WordPieceTokenizer(vocabulary, do_lower_case)
    starts = [
        t for t in vocabulary.tokens if len(t) == 1 and t.isalpha() and f"##{t}" in vocabulary.ids
    ]
    texts = []
    for index in sorted(set(range(len(vocabulary))) - vocabulary.special_ids):
        token = vocabulary.tokens[index]
        ways = [token] if token[:2] != "##" else [start + token[2:] for start in starts]
        texts.append(next((text for text in ways if index in tokenizer.encode(text)), token))
        assert index in tokenizer.encode(texts[-1]), ascii(token)
    graph = GraphTokenizer(vocabulary, do_lower_case)
    assert graph(texts).to_list() == [tokenizer.encode(text) for text in texts]


def test_depends_on_the_text_alone(learn, corpus, tmp_path):
    tokens = learn()
    lines = [f"{line}\n\n" for line in (TEXT * 3).splitlines() if line]
    random.Random(59).shuffle(lines)
    for name, part in (("z.txt", lines[:4]), ("a.txt", lines[4:])):
        (tmp_path / name).write_text("".join(part))
    given = f"{tmp_path}/z.txt,{tmp_path}/a.txt,{tmp_path}/*.txt"
    corpus.unlink()
    (tmp_path / "vocab.txt").unlink()
    assert learn(input_file=given, output_file=str(tmp_path / "out" / "v")) == tokens
    assert learn(input_file=given, output_file=str(tmp_path / "out" / "v"), num_workers=2) == tokens


def test_says_how_well_it_fits(learn, tmp_path):
    (tmp_path / "eval.txt").write_text("the fox 9")
    learn(eval_file=str(tmp_path / "eval.txt"))
    rows = {line.split()[0]: line.split()[1:] for line in learn.output.splitlines()[-2:]}
    assert rows["input_file"][1] == "0"
    assert rows["eval_file"][:2] == ["1.0000", "0.333"]


def test_rare_characters_may_be_left_out(learn, corpus):
    corpus.write_text(TEXT * 3 + "ж")
    tokens = learn(character_coverage=0.99)
    assert "ж" not in tokens
    assert "Characters without a token: " in learn.output
    assert len(tokens) == 71


def test_warns_of_rare_characters_that_take_much_room(learn, corpus):
    corpus.write_text(TEXT * 6007 + "".join(map(chr, range(0x4E00, 0x4E00 + 31))))
    learn(vocab_size=113)
    # 27 characters and 31 more; 23 letters also go on with words.
    assert "WARNING: 58 characters take 81 of 101 tokens" in learn.output
    assert "--character_coverage=0.9999 would take 50." in learn.output


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 12}, "--vocab_size=12 leaves no room for words: 12 tokens are special"),
        (
            {"vocab_size": 20},
            "leaves 8 tokens .* 27 characters take 50. Give at least --vocab_size=62",
        ),
        ({"vocab_size": 30522, "num_unused": None}, "--vocab_size=30522: the text gives "),
        ({"input_file": "none.txt"}, "--input_file"),
        ({"eval_file": "none.txt"}, "--eval_file"),
        ({"output_file": str(ROOT)}, "is a directory; name a file"),
        ({"extend": "none.txt"}, "--num_unused is for a new vocabulary"),
        ({"num_new_words": 3}, "--num_new_words needs --extend"),
        ({"num_unused": -1}, "--num_unused=-1"),
        ({"vocab_size": 0}, "--vocab_size=0"),
        ({"min_frequency": 0}, "--min_frequency=0"),
        ({"character_coverage": 0.0}, "--character_coverage=0.0"),
        ({"character_coverage": 1.5}, "--character_coverage=1.5"),
    ],
)
def test_refuses_what_cannot_be(learn, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        learn(**changes)
    assert not (tmp_path / "vocab.txt").exists()


def test_a_bad_text_to_measure_on_leaves_nothing_behind(learn, tmp_path):
    (tmp_path / "eval.txt").write_text("\u200b")
    with pytest.raises(InputError, match="has no word"):
        learn(eval_file=str(tmp_path / "eval.txt"))
    assert not (tmp_path / "vocab.txt").exists()


def test_both_ways_out_of_too_little_text_work(learn):
    with pytest.raises(InputError, match="the text gives") as error:
        learn(vocab_size=499)
    most = int(re.search(r"Give --vocab_size=(\d+)", str(error.value))[1])
    num_unused = int(re.search(r"--num_unused=(\d+)", str(error.value))[1])
    assert most - 7 + num_unused == 499
    assert len(learn(vocab_size=most)) == most
    assert len(learn(vocab_size=499, num_unused=num_unused)) == 499
    with pytest.raises(InputError, match="the text gives"):
        learn(vocab_size=most + 1)


def test_refuses_cased_text_without_upper_case(learn, corpus):
    corpus.write_text("fox jumps\n")
    with pytest.raises(InputError, match="no upper-case letter"):
        learn(do_lower_case=False)


# ---------------------------------------------------------------- --extend

RELEASED = [*learn_vocab.reserved_tokens(3, True), "the", "fox", "##es", "jump", "##s", "qui"]
RELEASED += ["##ck", "brown", ".", "!"]


@pytest.fixture
def released(tmp_path):
    path = tmp_path / "released.txt"
    path.write_bytes("\r\n".join(RELEASED).encode())
    return str(path)


def test_extends_a_released_vocabulary(learn, released):
    tokens = learn(extend=released, num_unused=None)
    # "quickly", "quicker", "jumping" (3 each) are unknown: 3 times 7 letters; then "jumped" 3
    # times 6 and "quiet" 3 times 5. "foxes" would save 6 times 1.
    expected = list(RELEASED)
    expected[1:4] = ["jumping", "quicker", "quickly"]
    assert tokens == expected
    row = next(line.split() for line in learn.output.splitlines() if line.endswith("quicker"))
    assert row == ["2", "[unused1]", "3", "[UNK]", "quicker"]
    assert "3 words in 3 [unused] slots" in learn.output
    before, after = (line.split() for line in learn.output.splitlines()[-2:])
    assert before[:2] == ["input_file", "before"]
    assert after[:2] == ["input_file", "after"]
    assert float(after[3]) == pytest.approx(float(before[3]) - 9 / 51, rel=0.01)


def test_adds_as_many_words_as_told(learn, released):
    tokens = learn(extend=released, num_unused=None, num_new_words=1)
    assert [new for new, old in zip(tokens, RELEASED, strict=True) if new != old] == ["jumping"]
    tokens = learn(extend=released, num_unused=None, min_frequency=4)
    assert [new for new, old in zip(tokens, RELEASED, strict=True) if new != old] == ["foxes"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_new_words": 4}, r"has 3 \[unused\] slots; 4 words"),
        ({"do_lower_case": False}, "--extend=.* so it is uncased"),
        ({"min_frequency": 99}, "there is nothing to add"),
        ({"output_file": "released"}, "--output_file is the file of --extend"),
        ({"extend": "none.txt"}, "--extend=none.txt does not exist"),
    ],
)
def test_refuses_to_extend(learn, released, changes, message):
    if "output_file" in changes:
        changes = {"output_file": released}
    with pytest.raises(InputError, match=message):
        learn(**{"extend": released, "num_unused": None} | changes)
    assert pathlib.Path(released).read_bytes() == "\r\n".join(RELEASED).encode()


def test_refuses_to_extend_what_has_no_slot(learn, tmp_path):
    path = tmp_path / "full.txt"
    path.write_text("\n".join([*vocab.SPECIAL_TOKENS, "fox"]))
    with pytest.raises(InputError, match=r"has 0 \[unused\] slots; 1 words"):
        learn(extend=str(path), num_unused=None)


def test_runs_as_a_command(corpus, tmp_path):
    command = [sys.executable, "-m", "bert_tf.vocabulary.learn", f"--input_file={corpus}"]
    command += [f"--output_file={tmp_path}/v.txt", "--vocab_size=71"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "ERROR: --vocab_size=71 leaves no room for words: 999 tokens are special" in done.stderr
    written = []
    for seed in ("61", "67"):  # of Python's own hashes, which order sets
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([*command, "--num_unused=7"], cwd=ROOT, env=environment, check=True)
        written.append((tmp_path / "v.txt").read_text(encoding="utf-8"))
    assert written[0] == written[1]
    assert written[0].count("\n") == 71


def test_does_not_load_tensorflow():
    check = "import bert_tf.vocabulary.learn, sys; sys.exit('tensorflow' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=True)


def test_options_survive_a_flag_file():
    options = LearnVocabulary(input_file="i", output_file="o", extend="v", num_new_words=3)
    assert "--num_new_words=3\n" in flagging.to_flagfile(options)
