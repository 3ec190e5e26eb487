"""Batching parameters of a version, for TensorFlow Serving."""

import os

from bert_tf import files

# TensorFlow Serving looks for this name next to saved_model.pb.
BATCHING_FILE = "batching_params.pbtxt"

_CHUNKS = 8  # of a full batch: enough rows to sort by length
_TIMEOUT_MICROS = 2000

_TEXT = """\
# Read by tensorflow_model_server --enable_batching --enable_per_model_batching_parameters, or
# given to it by --batching_parameters_file.
#
# The graph sorts a batch by length and computes it in chunks of {chunk_rows} rows. So texts of any
# lengths can be in one batch, and neither allowed_batch_sizes nor pad_variable_length_inputs is
# wanted: the latter pads with the first element of a tensor, which the model would read. Requests
# to signatures that take rows of several values (ids, words, choices) must have equally long rows:
# TensorFlow Serving fails a batch in which they differ. A full batch is {chunks} chunks.
# num_batch_threads is left out: as many as CPUs.
max_batch_size {{ value: {max_batch_size} }}
batch_timeout_micros {{ value: {timeout_micros} }}
max_enqueued_batches {{ value: 100 }}
"""


def write(path: str, chunk_rows: int) -> None:
    """Writes the parameters into the version in the directory `path`."""
    text = _TEXT.format(
        chunk_rows=chunk_rows,
        chunks=_CHUNKS,
        max_batch_size=_CHUNKS * chunk_rows,
        timeout_micros=_TIMEOUT_MICROS,
    )
    files.write_text(os.path.join(path, BATCHING_FILE), text)
