"""The batching parameters that TensorFlow Serving reads with a version."""

import os
import re


def test_scalar_fields_are_wrapped_and_fit_the_chunks(cases):
    path = os.path.join(cases["classify", 1].exported.path, "batching_params.pbtxt")
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    fields = [line for line in lines if not line.startswith("#")]
    # google/protobuf/wrappers.proto: a scalar of session_bundle_config.proto is a message.
    parsed = [re.fullmatch(r"(\w+) \{ value: (\d+) \}", line).groups() for line in fields]
    assert dict(parsed) == {
        "max_batch_size": "40",  # eight chunks of five rows
        "batch_timeout_micros": "2000",
        "max_enqueued_batches": "100",
    }
    assert any("chunks of 5 rows" in line for line in lines)
