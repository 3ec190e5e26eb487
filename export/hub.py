"""Export an encoder, or its text preprocessing, for hub.load.  --help lists every flag."""

import time

from bert_tf import commands, progress
from export import savedmodel
from export.options import HubExport
from export.tfhub import source


def run(options: HubExport) -> None:
    """Writes the SavedModel that the options name, checks it and prints a report.

    Raises:
      InputError: there is no such model, or no place to write to.
      DiskFullError: nothing is left of the version.
    """
    start = time.monotonic()
    given = source.open_source(options)
    savedmodel.check_export_dir(options.export_dir)
    print(f"Exporting {given.checkpoint.path} into {options.export_dir} ...", flush=True)
    from export.tfhub import writing  # TensorFlow takes seconds to load; wrong input is refused

    with progress.status("Saving the model and checking what it gives"):
        exported = writing.write(given, options)
    writing.report(exported, options, time.monotonic() - start)


if __name__ == "__main__":
    commands.run("hub")
