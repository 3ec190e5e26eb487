"""Reads --model_config_file again and again, and serves what it says."""

import threading

from bert_tf.errors import InputError
from serving.models import config
from serving.models.manager import ModelManager, Report
from serving.status import ServingError


class ConfigFilePoller:
    """A thread that keeps the models as the file says.

    A file that cannot be read, parsed or applied is reported, once for each reason, and changes
    nothing. What was refused is tried again at each look: a label may wait for its version.
    """

    def __init__(self, path: str, seconds: float, manager: ModelManager, report: Report) -> None:
        self._path, self._seconds = path, seconds
        self._manager, self._report = manager, report
        self._complaint = ""
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name="config file", daemon=True).start()

    def close(self) -> None:
        """Ends the thread, at once unless it waits for a model."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            self.look()

    def look(self) -> None:
        """Reads the file, and replaces the models if it says others."""
        complaint = ""
        try:
            configs = config.read(self._path)
            if {each.name: each for each in configs} != self._manager.configs():
                self._report(f"--model_config_file={self._path} has changed.")
                self._manager.apply(configs)
        except (InputError, ServingError) as error:
            complaint = f"{error} The models stay as they were."
        if complaint and complaint != self._complaint:
            self._report(complaint)
        self._complaint = complaint
