"""Addresses of servers."""

import pytest

from bert_tf.errors import InputError
from serving.client import address


@pytest.mark.parametrize(
    ("url", "full"),
    [
        ("localhost:8501", "http://localhost:8501"),
        ("127.0.0.1:80/", "http://127.0.0.1:80"),
        ("[::1]:8501", "http://[::1]:8501"),
        ("http://models.example", "http://models.example"),
        ("https://models.example/prefix/", "https://models.example/prefix"),
    ],
)
def test_the_scheme_of_a_server_may_be_left_out(url, full):
    assert address.server_url(url) == full


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "no host"),
        ("localhost", "no port"),
        (":8501", "no host"),
        ("localhost:port", "port"),
        ("localhost:99999", "[Pp]ort out of range"),
        ("ftp://localhost:8501", "the scheme ftp:// is not http or https"),
        ("a model", "'a model' is not the name of a host"),
        ("http://localhost:8501/v1/models/m:predict", "more than the address of the server"),
    ],
)
def test_what_is_no_server_is_refused(url, problem):
    with pytest.raises(InputError, match=f"--url={url} is not .*{problem}.* localhost:8501"):
        address.server_url(url)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("localhost:8500", ("localhost:8500", False)),
        ("grpc://localhost:8500/", ("localhost:8500", False)),
        ("grpcs://models.example:443", ("models.example:443", True)),
        ("grpc://[::1]:8500", ("[::1]:8500", False)),
        ("unix:sockets/serving", ("unix:sockets/serving", False)),
    ],
)
def test_targets_of_grpc(url, target):
    assert address.grpc_target(url) == target
    assert address.is_grpc(url) == (url != "localhost:8500")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("grpc://localhost", "no port"),
        ("grpc://:8500", "no host"),
        ("http://localhost:8501", "the scheme http:// is not grpc or grpcs"),
        ("grpc://localhost:8500/v1/models/m", "more than the address"),
    ],
)
def test_what_is_no_target_is_refused(url, problem):
    with pytest.raises(InputError, match=f"{problem}.*grpc://localhost:8500"):
        address.grpc_target(url)
