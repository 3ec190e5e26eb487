"""`extract_features.py`: a file of texts to a file of vectors.

The input is read in chunks that fit into memory. The rows of a chunk are sorted by length for
the model, and written in the order of the input.
"""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator

import numpy as np

from bert_tf import checkpoints, flagging, formatting
from bert_tf.checkpoints.kinds import HEADS
from bert_tf.examples import batching
from bert_tf.examples.rows import encoder_inputs
from bert_tf.extraction import lines, unfinished
from bert_tf.extraction.formats.base import Extracted, Format, Layout
from bert_tf.extraction.formats.json_lines import JsonLines
from bert_tf.extraction.formats.numpy_arrays import NumpyArrays
from bert_tf.extraction.formats.parquet import Parquet
from bert_tf.extraction.formats.records import Records
from bert_tf.extraction.inputs import Extraction
from bert_tf.extraction.lines import Row
from bert_tf.modeling.encoder import Encoder
from bert_tf.progress import Progress, status
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.training.frozen.vectors import VectorModel

_FORMATS: dict[str, type[Format]] = {
    "jsonl": JsonLines,
    "npz": NumpyArrays,
    "tfrecord": Records,
    "parquet": Parquet,
}
# Of a chunk: vectors of 5,461 tokens, four layers 768 wide; as JSON lines they take three times
# as much.
_MAX_BYTES, _MAX_TOKENS = 2**26, 2**18


def run(work: Extraction) -> None:
    """Extracts what was read and checked, from where a killed extraction stopped."""
    options = work.options
    flagging.announce(options)
    layout = _layout(work)
    output_format = _FORMATS[work.format](layout, is_compressed=work.is_compressed)
    model = _model(work)
    with contextlib.closing(
        unfinished.Unfinished(options.output_file, output_format, work.identity)
    ) as output:
        if output.num_rows:
            print(f"Going on after line {output.num_rows:,}.", flush=True)
        _extract(work, layout, model, output_format, output)
        with status(f"Writing {options.output_file}"):
            output.finish()
    size = formatting.size(os.path.getsize(options.output_file))
    print(f"Vectors: {options.output_file}, {size}. {output_format.hint(options.output_file)}")


def _layout(work: Extraction) -> Layout:
    width = work.selection.width(work.model.config.hidden_size)
    return Layout(work.selection, work.model.vocabulary, width, work.options.output_dtype)


def _model(work: Extraction) -> VectorModel:
    """The encoder with its weights; heads are left out."""
    dtype = work.options.dtype
    policy = dtype if dtype == "float32" else f"mixed_{dtype}"
    with status("Loading the weights"):
        encoder = Encoder(work.model.config, dtype=policy)
        heads = tuple(f"{head}/.*" for head in HEADS)
        if work.model.checkpoint:
            checkpoints.load(
                encoder, work.model.checkpoint, skip=heads, fresh=(r"encoder/pooler/.*",)
            )
    return VectorModel(encoder, work.selection, work.options.output_dtype)


def _extract(
    work: Extraction,
    layout: Layout,
    model: VectorModel,
    output_format: Format,
    output: unfinished.Unfinished,
) -> None:
    """Adds what is left of the input to the output, and says how fast that was."""
    options = work.options
    tokenizer = WordPieceTokenizer(work.model.vocabulary, options.do_lower_case)
    rows = lines.rows(options.input_file, tokenizer, options.max_seq_length, output.num_rows)
    done, num_tokens, num_cut, start = output.num_rows, 0, 0, time.monotonic()
    with Progress(
        "extract", work.survey.num_lines, "texts", done, first="compiling the model"
    ) as progress:
        for chunk in chunks(rows, layout, options.batch_size):
            extracted = _extracted(chunk, model, options.batch_size, progress)
            output.add(output_format.encode(extracted), len(chunk))
            num_tokens += sum(len(row.word_ids) for row in chunk)
            num_cut += sum(row.is_cut for row in chunk)
    num_rows = output.num_rows - done
    speed = formatting.rate(num_rows / max(1e-9, time.monotonic() - start), "texts")
    print(f"Extracted: {num_rows:,} texts of {num_tokens:,} tokens, {speed}.", flush=True)
    if num_cut:
        print(
            f"  {num_cut:,} of them were longer than --max_seq_length={options.max_seq_length} "
            "and were cut.",
            flush=True,
        )


def chunks(rows: Iterable[Row], layout: Layout, batch_size: int) -> Iterator[list[Row]]:
    """Cuts rows into chunks whose vectors fit into memory, each of at least one batch.

    Where the cuts are depends on the rows alone, so that a restart repeats every number.
    """
    has_tokens = layout.selection.has_tokens
    chunk: list[Row] = []
    num_tokens = num_vectors = 0
    for row in rows:
        chunk.append(row)
        num_tokens += len(row.word_ids)
        num_vectors += len(row.word_ids) if has_tokens else 1
        is_full = num_tokens >= _MAX_TOKENS or num_vectors * layout.row_bytes >= _MAX_BYTES
        if is_full and len(chunk) >= batch_size:
            yield chunk
            chunk, num_tokens, num_vectors = [], 0, 0
    if chunk:
        yield chunk


def _extracted(
    chunk: list[Row], model: VectorModel, batch_size: int, progress: Progress
) -> list[Extracted]:
    """The vectors of each row, in the order of the rows."""
    lengths = np.array([len(row.word_ids) for row in chunk])
    vectors: dict[int, np.ndarray] = {}
    for indices in batching.length_batches(lengths, batch_size):
        batch = [chunk[index] for index in indices]
        inputs = encoder_inputs([row.word_ids for row in batch], [row.type_ids for row in batch])
        for index, found in zip(indices.tolist(), model(inputs), strict=True):
            # [B N H] of vectors for texts, or [B T N H] with padding.
            vectors[index] = found if found.ndim == 2 else found[: lengths[index]]
        progress.advance(len(indices))
    return [Extracted(row, vectors[index]) for index, row in enumerate(chunk)]
