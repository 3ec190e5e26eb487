import pytest

from serving.status import HTTP_STATUS, Code, ServingError


@pytest.mark.parametrize(
    ("status", "codes"),
    [
        (200, ["OK"]),
        (400, ["INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE"]),
        (401, ["UNAUTHENTICATED"]),
        (403, ["PERMISSION_DENIED"]),
        (404, ["NOT_FOUND"]),
        (409, ["ALREADY_EXISTS", "ABORTED"]),
        (429, ["RESOURCE_EXHAUSTED"]),
        (499, ["CANCELLED"]),
        (500, ["UNKNOWN", "INTERNAL", "DATA_LOSS"]),
        (501, ["UNIMPLEMENTED"]),
        (503, ["UNAVAILABLE"]),
        (504, ["DEADLINE_EXCEEDED"]),
    ],
)
def test_codes_map_to_http(status, codes):
    assert [code.name for code in Code if HTTP_STATUS[code] == status] == sorted(
        codes, key=lambda name: Code[name]
    )


def test_codes_are_tensorflows():
    import tensorflow as tf

    assert Code.INVALID_ARGUMENT == tf.errors.INVALID_ARGUMENT
    assert Code.UNAUTHENTICATED == tf.errors.UNAUTHENTICATED


def test_an_error_reads_as_code_and_message():
    assert str(ServingError(Code.NOT_FOUND, "no")) == "NOT_FOUND: no"
