"""TensorBoard scalars, written as what they are: TFRecords of `Event` messages.

A restart tells TensorBoard where it goes on, so that the curves show every step once; the writer
of `tf.summary` cannot.
"""

import os

import tensorflow as tf

_VERSION = "brain.Event:2"  # without it TensorBoard ignores the start message


class EventFile:
    """A file of scalars that TensorBoard shows.

    Args:
      directory: str; TensorBoard reads its files in the order of their names.
      number: int, of the process among those of the run, 1, 2, ...
      step: int, updates done; what earlier files hold of later ones is no longer shown.
      seconds: float, since 1970.
    """

    def __init__(self, directory, number, step, seconds):
        os.makedirs(directory, exist_ok=True)
        name = f"events.out.tfevents.{int(seconds):010d}.{number:05d}"
        self._writer = tf.io.TFRecordWriter(os.path.join(directory, name))
        self._write(tf.compat.v1.Event(wall_time=seconds, file_version=_VERSION))
        start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
        self._write(tf.compat.v1.Event(wall_time=seconds, step=step + 1, session_log=start))

    def add(self, step, seconds, values):
        """Writes scalars.

        Args:
          step: int.
          seconds: float, since 1970.
          values: dict from tag to float.
        """
        scalars = [
            tf.compat.v1.Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()
        ]
        summary = tf.compat.v1.Summary(value=scalars)
        self._write(tf.compat.v1.Event(wall_time=seconds, step=step, summary=summary))

    def flush(self):
        self._writer.flush()

    def close(self):
        self._writer.close()

    def _write(self, event):
        self._writer.write(event.SerializeToString())
