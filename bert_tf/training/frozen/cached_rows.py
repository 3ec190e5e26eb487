"""Rows with the vectors that a frozen encoder gives their tokens, computed once and kept on disk.

The encoder has no dropout while it is frozen, so the vectors of a row are the same in every epoch:
after the first pass only the model that reads them has to run.
"""

import dataclasses
import functools
import json
import os
from collections.abc import Sequence

import numpy as np

from bert_tf import checkpoints, features, files, formatting, identity
from bert_tf.checkpoints import Checkpoint
from bert_tf.checkpoints.kinds import HEADS
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples import batching
from bert_tf.examples.rows import Batch, Ints, Rows
from bert_tf.frozen_layers import FROZEN_LAYERS
from bert_tf.modeling.encoder import Encoder
from bert_tf.progress import Progress, status
from bert_tf.training.frozen.layers import Layer, Selection
from bert_tf.training.frozen.vectors import VectorModel

_DTYPE = np.float32


@dataclasses.dataclass(frozen=True)
class CachedRows(Rows):
    """Rows whose batches have `layer_vectors`.

    Attributes:
      vectors: float32 [K L H], of all tokens of all rows; a file that is read as needed.
    """

    vectors: np.ndarray = dataclasses.field(default_factory=lambda: np.empty((0, 1, 1), _DTYPE))

    @property
    def extra_inputs(self) -> tuple[features.Feature, ...]:
        """See `Rows`."""
        return (features.LAYER_VECTORS,)

    def batch(self, indices: Ints) -> Batch:
        """`Rows.batch` with float32 [B T L H] `layer_vectors`, zeros at padding."""
        batch = super().batch(indices)
        shape = batch[features.WORD_IDS.name].shape
        padded = np.zeros((*shape, *self.vectors.shape[1:]), _DTYPE)
        for target, index in zip(padded, indices, strict=True):
            first, end = self._splits[index : index + 2]
            target[: end - first] = self.vectors[first:end]
        return batch | {features.LAYER_VECTORS.name: padded}

    @functools.cached_property
    def _splits(self) -> Ints:
        """[N+1]: the tokens of row i are those from splits[i] to splits[i+1]."""
        return np.concatenate([[0], np.cumsum(self.lengths)])


class VectorCache:
    """Computes and keeps the vectors that a model on frozen layers reads.

    Args:
      directory: where they are kept; `remove` deletes it.
      config, checkpoint: the encoder, and its weights.
      frozen_layers: key of `FROZEN_LAYERS`.
    """

    def __init__(
        self, directory: str, config: BertConfig, checkpoint: Checkpoint, frozen_layers: str
    ) -> None:
        self._directory, self._config, self._checkpoint = directory, config, checkpoint
        depths = FROZEN_LAYERS[frozen_layers].depths(config.num_hidden_layers)
        self._selection = Selection(tuple(Layer(depth, depth) for depth in depths))

    @functools.cached_property
    def _model(self) -> VectorModel:
        with status("Loading the weights of the encoder"):
            encoder = Encoder(self._config)
            heads = tuple(f"{head}/.*" for head in HEADS)
            checkpoints.load(encoder, self._checkpoint, skip=heads, fresh=(r"encoder/pooler/.*",))
        return VectorModel(encoder, self._selection, np.dtype(_DTYPE).name)

    def of(self, rows: Rows, name: str, batch_size: int = 32) -> CachedRows:
        """The rows with their vectors, which are computed unless they are there.

        Args:
          rows: of one sequence each.
          name: of the file: no other rows of the run have it.

        Raises:
          InputError: the disk has no room for them.
        """
        path = os.path.join(self._directory, f"{name}.npy")
        if not self._is_there(path, rows):
            self._write(path, rows, name, batch_size)
        vectors = np.load(path, mmap_mode="r")
        return CachedRows(rows.word_ids, rows.type_ids, rows.labels, vectors=vectors)

    def _identity(self, rows: Rows) -> dict[str, object]:
        return {
            "rows": rows.without_labels().digest(),
            "layers": [layer.depth for layer in self._selection.layers],
            "weights": os.path.abspath(self._checkpoint.path),
        }

    def _is_there(self, path: str, rows: Rows) -> bool:
        description = f"{path}.json"
        if not (os.path.isfile(path) and os.path.isfile(description)):
            return False
        return not identity.differences(description, self._identity(rows))

    def _write(self, path: str, rows: Rows, name: str, batch_size: int) -> None:
        lengths = rows.lengths
        splits = np.concatenate([[0], np.cumsum(lengths)])
        shape = (int(splits[-1]), len(self._selection.layers), self._config.hidden_size)
        self._check_room(shape)
        unlabelled = rows.without_labels()
        with files.replacing(path, flushes=False) as temporary:
            vectors = np.lib.format.open_memmap(temporary, "w+", _DTYPE, shape)
            first = "compiling the model"
            with Progress(f"vectors of {name}", len(rows), "rows", first=first) as progress:
                for indices in batching.length_batches(lengths, batch_size):
                    found = self._model(unlabelled.batch(indices))
                    for index, of_row in zip(indices, found, strict=True):
                        vectors[splits[index] : splits[index + 1]] = of_row[: lengths[index]]
                    progress.advance(len(indices))
            vectors.flush()
        text = json.dumps(self._identity(rows)) + "\n"
        files.write_text(f"{path}.json", text, flushes=False)

    def _check_room(self, shape: Sequence[int]) -> None:
        needed = int(np.prod(shape)) * np.dtype(_DTYPE).itemsize
        free = files.free_bytes(self._directory)
        if needed > free:
            raise InputError(
                f"The vectors of {shape[0]:,} tokens take {formatting.size(needed)} in "
                f"{self._directory}, and {formatting.size(free)} are free. Give an --output_dir "
                "with more room, or a choice of fewer layers."
            )

    def remove(self) -> None:
        """Deletes the vectors."""
        if os.path.isdir(self._directory):
            for name in os.listdir(self._directory):
                os.remove(os.path.join(self._directory, name))
            os.rmdir(self._directory)
