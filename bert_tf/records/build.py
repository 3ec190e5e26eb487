"""Text to pre-training TFRecords: documents, pairs, masks, records, in a stream.

The output depends on the input, the flags and the seed alone. Memory holds two pools of
documents and one buffer of records, however long the input is.
"""

import itertools
import os
import random

from bert_tf import files, flagging
from bert_tf.errors import InputError
from bert_tf.examples import pairs
from bert_tf.examples.masking import Masker
from bert_tf.examples.pretraining import ExampleMaker
from bert_tf.progress import Progress
from bert_tf.records import write
from bert_tf.records.summary import Summary
from bert_tf.text import documents, vocab
from bert_tf.text.wordpiece import WordPieceTokenizer

# Random second texts come from the same pool; so many tokens are about 20 MB of English.
POOL_TOKENS = 2**22
# Records are written in random order over so many bytes, e.g. 75,000 records of length 128.
SHUFFLE_BYTES = 64 * 2**20
_NUM_EXAMPLES_TO_PRINT = 2


def run(options):
    """Makes the records that `options` asks for and prints what they are like.

    Args:
      options: `options.PretrainingData`.

    Returns:
      `summary.Summary`.

    Raises:
      InputError: a file is missing or not what it should be, the vocabulary has another
        casing, or the text has fewer than two documents of two sentences.
    """
    inputs = files.expand(options.input_file, "--input_file")
    outputs = _outputs(options.output_file, inputs)
    vocabulary = vocab.from_file(options.vocab_file)
    vocab.check_casing(vocabulary, options.do_lower_case)
    flagging.announce(options)

    maker = ExampleMaker(
        vocabulary=vocabulary,
        masker=Masker(
            vocabulary,
            options.masked_lm_prob,
            options.max_predictions_per_seq,
            options.do_whole_word_mask,
        ),
        max_seq_length=options.max_seq_length,
        short_seq_prob=options.short_seq_prob,
        random_seed=options.random_seed,
    )
    tokenizer = WordPieceTokenizer(vocabulary, options.do_lower_case)
    summary = Summary(vocabulary, options)
    progress = _TextProgress(sum(map(os.path.getsize, inputs)), 1 + options.dupe_factor)
    with write.replacing_all(outputs) as writers:
        stream = _documents(documents.read(inputs), tokenizer, maker, summary, progress)
        records = _records(pairs.pools(stream, POOL_TOKENS), maker, options, summary, progress)
        rng = random.Random(f"{options.random_seed} order of the records")
        next_writer = itertools.cycle(writers)
        for record in shuffled(records, rng, SHUFFLE_BYTES):
            next(next_writer).write(record)
        progress.close()
        if summary.num_examples < len(outputs):
            raise InputError(
                f"The input gives {summary.num_examples} example(s), fewer than the "
                f"{len(outputs)} files of --output_file. Name fewer files."
            )
    print(summary.text(), flush=True)
    return summary


def _outputs(output_file, inputs):
    """The paths of --output_file, checked."""
    paths = [part.strip() for part in output_file.split(",") if part.strip()]
    if not paths:
        raise InputError("--output_file is empty; it takes a comma-separated list of files.")
    for path in paths:
        if os.path.isdir(path):
            raise InputError(f"--output_file={path} is a directory; a file was wanted.")
    resolved = [os.path.realpath(path) for path in paths]
    if len(set(resolved)) < len(resolved):
        raise InputError(f"--output_file={output_file} names a file twice.")
    if overwritten := set(resolved) & {os.path.realpath(path) for path in inputs}:
        raise InputError(f"--output_file names the input {sorted(overwritten)[0]}.")
    return paths


def _documents(texts, tokenizer, maker, summary, progress):
    """Tokenizes a stream of `documents.Document` to `pairs.Document`s of two sentences or more."""
    for number, text in enumerate(texts):
        sentences = [tokenizer.encode(sentence) for sentence in text.sentences]
        document = maker.document(number, sentences, text.num_bytes)
        summary.add_document(text, document)
        if document.num_sentences >= 2:
            progress.advance(text.num_bytes)
            yield document
        else:
            progress.skip(text.num_bytes)


def _records(document_pools, maker, options, summary, progress):
    """Yields the records of all passes over all documents, as bytes."""
    for pool in document_pools:
        for pass_number in range(options.dupe_factor):
            for index, document in enumerate(pool.documents):
                for example in maker.examples(pool, index, pass_number):
                    if summary.num_examples < _NUM_EXAMPLES_TO_PRINT:
                        print(_as_text(example, maker.vocabulary), flush=True)
                    summary.add_example(example)
                    yield write.encode(
                        write.pretraining_values(
                            example, options.max_seq_length, options.max_predictions_per_seq
                        )
                    )
                progress.advance(document.num_bytes)


def shuffled(records, rng, buffer_bytes):
    """Yields all records in a random order, holding no more than `buffer_bytes` and one.

    Args:
      records: iterable of bytes.
      rng: `random.Random`.
      buffer_bytes: int.
    """
    held, size = [], 0

    def take():
        place = int(rng.random() * len(held))
        held[place], held[-1] = held[-1], held[place]
        return held.pop()

    for record in records:
        held.append(record)
        size += len(record)
        while size > buffer_bytes:
            taken = take()
            size -= len(taken)
            yield taken
    while held:
        yield take()


def _as_text(example, vocabulary):
    """An example to look at: its tokens, what is to be predicted, and the label."""
    tokens = vocabulary.tokens
    wanted = zip(example.positions, example.labels, strict=True)
    return (
        f"Example:\n  {' '.join(tokens[word_id] for word_id in example.word_ids)}\n"
        f"  to predict: {', '.join(f'{place} {tokens[label]}' for place, label in wanted)}\n"
        f"  second text: {'from another document' if example.is_random_next else 'the next one'}"
    )


class _TextProgress:
    """Progress in bytes of text, each of which is worked on `num_passes` times."""

    def __init__(self, num_bytes, num_passes):
        self._progress = Progress("create", num_bytes, "bytes", unit_scale=True)
        self._num_passes = num_passes
        self._work = 0

    def skip(self, num_bytes):
        """Counts text that no further pass will see."""
        self.advance(num_bytes * self._num_passes)

    def advance(self, num_bytes):
        """Counts text that one pass has seen."""
        before = self._work // self._num_passes
        self._work += num_bytes
        self._progress.advance(self._work // self._num_passes - before)

    def close(self):
        self._progress.close()
