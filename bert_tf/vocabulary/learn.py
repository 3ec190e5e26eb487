"""Learns a WordPiece vocabulary from text, or adds words of the text to a released one.

    python -m bert_tf.vocabulary.learn --input_file=corpus.txt --output_file=vocab.txt
    python -m bert_tf.vocabulary.learn --extend=released/vocab.txt --input_file=domain.txt
        --output_file=vocab.txt

Inputs and words are those of create_pretraining_data.py. The order of the tokens is the
released one: [PAD], up to 99 [unused] slots, [UNK], [CLS], [SEP], [MASK], the other slots, the
characters, and the learned tokens from the most to the least used.
"""

import os
import tempfile
import time
from collections.abc import Mapping, Sequence

from bert_tf import commands, files
from bert_tf.corpus import inputs
from bert_tf.errors import InputError
from bert_tf.formatting import duration, number, percent, size
from bert_tf.options import LearnVocabulary
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.vocabulary import extension, word_counts, wordpiece_learner
from bert_tf.vocabulary.word_counts import WordCounts

_NUM_UNUSED_BEFORE_UNK = 99  # [UNK] is id 100 in every released vocabulary
_MUCH_ROOM = 0.1
_A_SMALLER_COVERAGE = 0.9999


def main(options: LearnVocabulary) -> None:
    """Writes the vocabulary and prints what it consists of and how well it fits."""
    if os.path.isdir(options.output_file):
        raise InputError(f"--output_file={options.output_file} is a directory; name a file.")
    paths = inputs.find(options.input_file)
    eval_paths = inputs.find(options.eval_file, "--eval_file") if options.eval_file else None
    with files.disk_full_explained(tempfile.gettempdir(), _disk_full):
        if options.extend:
            _extend(options, options.extend, paths, eval_paths)
        else:
            _learn(options, paths, eval_paths)


def _disk_full() -> str:
    """What is kept after a full disk, and how to go on."""
    return (
        "No vocabulary was written; a file that was there is as it was. Free some space, there and "
        f"in {tempfile.gettempdir()} for the words that memory does not hold (the environment "
        "variable TMPDIR names another place), and run the same command again."
    )


def reserved_tokens(num_unused: int, do_lower_case: bool) -> list[str]:
    """Returns special tokens and [unused] slots in the released order and spelling.

    The slots of uncased vocabularies start at 0, those of cased ones at 1.
    """
    first = 0 if do_lower_case else 1
    slots = [f"[unused{number}]" for number in range(first, first + num_unused)]
    pad, *others = vocab.SPECIAL_TOKENS
    return [pad, *slots[:_NUM_UNUSED_BEFORE_UNK], *others, *slots[_NUM_UNUSED_BEFORE_UNK:]]


def _learn(options: LearnVocabulary, paths: list[str], eval_paths: list[str] | None) -> None:
    reserved = reserved_tokens(_num_unused(options), options.do_lower_case)
    room = options.vocab_size - len(reserved)
    if room <= 0:
        raise InputError(
            f"--vocab_size={options.vocab_size} leaves no room for words: {len(reserved)} tokens "
            "are special and [unused] ones. Give a larger one, or a smaller --num_unused."
        )
    started = time.perf_counter()
    counted = word_counts.count(paths, options)
    has_counted = time.perf_counter()
    chars, left_out = wordpiece_learner.choose_characters(
        counted.counts, options.character_coverage
    )
    spelling = wordpiece_learner.alphabet(chars)
    _check_characters(options, counted.counts, chars, spelling, room)
    learned = wordpiece_learner.learn(counted.counts, spelling, room, options.min_frequency)
    has_learned = time.perf_counter()
    if len(learned) < room:
        raise _too_little_text(options, len(learned), len(reserved))
    vocabulary = vocab.Vocabulary([*reserved, *learned], source="the learned vocabulary")
    texts = _texts(options, counted, eval_paths)
    files.write_text(options.output_file, vocabulary.text)
    print(
        f"Wrote {options.output_file}: {len(vocabulary)} tokens, of which {len(reserved)} special "
        f"and [unused], {len(spelling)} for {len(chars)} characters, "
        f"{len(learned) - len(spelling)} longer ones."
    )
    print(
        f"Counting took {duration(has_counted - started)}, learning "
        f"{duration(has_learned - has_counted)}. "
        f"Characters without a token: {len(left_out)}."
    )
    _print_size(counted)
    _print_fit(texts, {"": vocabulary}, options.do_lower_case)


def _num_unused(options: LearnVocabulary) -> int:
    if options.num_unused is not None:
        return options.num_unused
    return 994 if options.do_lower_case else 101  # released uncased and cased vocabularies


def _check_characters(
    options: LearnVocabulary,
    counts: Mapping[str, int],
    chars: Sequence[str],
    spelling: Sequence[str],
    room: int,
) -> None:
    """Raises an InputError if the characters do not fit; warns if rare ones take much room."""
    if not options.do_lower_case and all(char == char.lower() for char in chars):
        raise InputError(
            "The text has no upper-case letter, so its vocabulary would be an uncased one. Give "
            "--do_lower_case=true."
        )
    common, _ = wordpiece_learner.choose_characters(counts, _A_SMALLER_COVERAGE)
    num_common = len(wordpiece_learner.alphabet(common))
    way_out = f"--character_coverage={_A_SMALLER_COVERAGE} would take {num_common}."
    if len(spelling) > room:
        raise InputError(
            f"--vocab_size={options.vocab_size} leaves {room} tokens apart from special and "
            f"[unused] ones, but the text's {len(chars)} characters take {len(spelling)}. Give at "
            f"least --vocab_size={options.vocab_size - room + len(spelling)}; {way_out}"
        )
    if len(spelling) - num_common > _MUCH_ROOM * room:
        print(f"WARNING: {len(chars)} characters take {len(spelling)} of {room} tokens; {way_out}")


def _too_little_text(options: LearnVocabulary, num_learned: int, num_reserved: int) -> InputError:
    total = num_learned + num_reserved
    ways_out = [f"--vocab_size={total} or less", "more text"]
    if options.min_frequency > 1:
        ways_out.append(f"a --min_frequency below {options.min_frequency}")
    num_slots = _num_unused(options) + options.vocab_size - total
    return InputError(
        f"--vocab_size={options.vocab_size}: the text gives {num_learned} tokens, with special "
        f"and [unused] ones {total}. Give {', '.join(ways_out)}, or --num_unused={num_slots} to "
        "fill up with slots."
    )


def _extend(
    options: LearnVocabulary, base_file: str, paths: list[str], eval_paths: list[str] | None
) -> None:
    base = vocab.from_file(base_file, "--extend")
    vocab.check_casing(base, options.do_lower_case, f"--extend={base_file}")
    slots = extension.free_slots(base)
    num_words = len(slots) if options.num_new_words is None else options.num_new_words
    if num_words > len(slots) or not slots:
        raise InputError(
            f"--extend={base_file} has {len(slots)} [unused] slots; "
            f"{max(1, num_words)} words would have to be added."
        )
    if os.path.exists(options.output_file) and os.path.samefile(options.output_file, base_file):
        raise InputError("--output_file is the file of --extend; name another file.")
    counted = word_counts.count(paths, options)
    tokenizer = WordPieceTokenizer(base, options.do_lower_case)
    words = extension.choose_words(counted.counts, tokenizer, num_words, options.min_frequency)
    if not words:
        raise InputError(
            f"--extend={base_file} has a token for every word that occurs "
            f"{options.min_frequency} times or more; there is nothing to add."
        )
    vocabulary = extension.extended(base, [new.word for new in words])
    texts = _texts(options, counted, eval_paths)
    files.write_text(options.output_file, vocabulary.text)
    print("    id  was              count  tokens  word")
    for slot, new in zip(slots, words, strict=False):
        tokens = new.num_tokens or "[UNK]"
        print(f"{slot:6d}  {base.tokens[slot]:12s} {new.count:9d}  {tokens:>6}  {new.word}")
    print(
        f"Wrote {options.output_file}: {len(vocabulary)} tokens, {len(words)} words in "
        f"{len(slots)} [unused] slots."
    )
    _print_size(counted)
    _print_fit(texts, {"before": base, "after": vocabulary}, options.do_lower_case)


def _texts(
    options: LearnVocabulary, counted: WordCounts, eval_paths: list[str] | None
) -> dict[str, Mapping[str, int]]:
    """Word counts of the texts to measure the vocabulary on, by flag."""
    texts: dict[str, Mapping[str, int]] = {"input_file": counted.counts}
    if eval_paths:
        texts["eval_file"] = word_counts.count(eval_paths, options).counts
    return texts


def _print_size(counted: WordCounts) -> None:
    print(
        f"The text has {size(counted.num_bytes)} and {counted.num_words:,} words. The "
        f"{len(counted.counts):,} most frequent distinct words were used; the others are "
        f"{percent(counted.num_left_out / counted.num_words)} of the text."
    )


def _print_fit(
    texts: Mapping[str, Mapping[str, int]],
    vocabularies: Mapping[str, vocab.Vocabulary],
    do_lower_case: bool,
) -> None:
    """Prints a line for each text and vocabulary; punctuation marks count as words."""
    print(f"{'':18s}  tokens per word  [UNK] per word  tokens used")
    for text, counts in texts.items():
        for name, vocabulary in vocabularies.items():
            fit = measure(WordPieceTokenizer(vocabulary, do_lower_case), counts)
            label = f"{text} {name}"
            print(
                f"{label:18s}  {fit['tokens_per_word']:15.4f}  "
                f"{number(fit['unknown_per_word'], 3):>14s}  {fit['share_used']:11.1%}"
            )


def measure(tokenizer: WordPieceTokenizer, counts: Mapping[str, int]) -> dict[str, float]:
    """Returns how well a vocabulary fits a text with these word counts.

    Returns:
      `tokens_per_word`; `unknown_per_word`; `share_used`, the share of the vocabulary's tokens that
      the text has.
    """
    num_words = num_tokens = num_unknown = 0
    used: set[int] = set()
    unknown = [tokenizer.vocabulary.unk_id]
    for word, count in counts.items():
        ids = tokenizer.cut(word)
        num_words += count
        num_tokens += count * len(ids)
        num_unknown += count * (ids == unknown)
        used.update(ids)
    return {
        "tokens_per_word": num_tokens / num_words,
        "unknown_per_word": num_unknown / num_words,
        "share_used": len(used) / len(tokenizer.vocabulary),
    }


if __name__ == "__main__":
    commands.run("vocab")
