"""A file arrives complete or not at all, whatever the server does."""

import hashlib
import os
import shutil
import socket

import pytest
from huggingface_hub.errors import HfHubHTTPError

from bert_tf.checkpoints.hub import download
from bert_tf.checkpoints.hub.download import Source
from bert_tf.errors import InputError, UnfinishedError
from tests.reference import file_server

DATA = bytes(range(251)) * 17
SHA256 = hashlib.sha256(DATA).hexdigest()
TOKEN = {"Authorization": "Bearer abc"}


@pytest.fixture
def server(server):
    server.files["/model"] = DATA
    return server


@pytest.fixture
def path(place):
    return str(place / "model")


def fetch(server, path, **known):
    return download.download(Source(f"{server.url}/model", **known), path)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def leave_part(path, data):
    with open(f"{path}.part", "wb") as file:
        file.write(data)


def test_a_file_arrives_complete(server, path):
    assert fetch(server, path, num_bytes=len(DATA), digests={"sha256": SHA256}) == SHA256
    assert read(path) == DATA
    assert os.listdir(os.path.dirname(path)) == ["model"]
    assert server.ranges == [None]


def test_content_is_not_asked_for_compressed(server, path):
    fetch(server, path)
    assert server.asked[0][1]["Accept-Encoding"] == "identity"


def test_a_dropped_connection_is_resumed_where_it_broke(server, path):
    server.first["/model"] = [("break", 1009), ("break", 499)]
    assert fetch(server, path, digests={"sha256": SHA256}) == SHA256
    assert server.ranges == [None, "bytes=1009-", "bytes=1508-"]
    assert read(path) == DATA


def test_what_an_earlier_run_left_is_continued(server, path):
    leave_part(path, DATA[:1013])
    assert fetch(server, path) == SHA256
    assert server.ranges == ["bytes=1013-"]
    assert read(path) == DATA


def test_a_complete_part_is_not_asked_for_again(server, path):
    leave_part(path, DATA)
    assert fetch(server, path, num_bytes=len(DATA), digests={"sha256": SHA256}) == SHA256
    assert server.asked == []


def test_a_server_that_does_not_resume_sends_it_all_again(server, path):
    leave_part(path, b"other" * 7)
    server.resumes = False
    assert fetch(server, path) == SHA256
    assert server.ranges == ["bytes=35-"]
    assert read(path) == DATA


def test_the_start_of_another_file_is_found_out_and_discarded(server, path):
    leave_part(path, b"other" * 7)
    assert fetch(server, path, digests={"sha256": SHA256}) == SHA256
    assert server.ranges == ["bytes=35-", None]
    assert read(path) == DATA


def test_a_part_longer_than_the_file_is_discarded(server, path):
    leave_part(path, DATA + b"more")
    assert fetch(server, path) == SHA256
    assert server.ranges == [f"bytes={len(DATA) + 4}-", None]


def test_a_part_longer_than_the_known_length_is_not_asked_on(server, path):
    leave_part(path, DATA + b"more")
    assert fetch(server, path, num_bytes=len(DATA)) == SHA256
    assert server.ranges == [None]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"digests": {"sha256": "0" * 64}}, f"its sha256 is {SHA256}, 0000"),
        ({"num_bytes": len(DATA) - 1}, f"{len(DATA)} bytes, {len(DATA) - 1} were wanted"),
    ],
)
def test_a_wrong_file_is_refused_and_not_kept(server, path, known, message):
    with pytest.raises(InputError, match=message):
        fetch(server, path, **known)
    assert os.listdir(os.path.dirname(path)) == []


def test_the_hash_that_google_s_hosts_tell_is_checked(server, path):
    server.google_hash("/model", data=b"another")
    with pytest.raises(InputError, match="its md5 is "):
        fetch(server, path)
    server.google_hash("/model")
    assert fetch(server, path) == SHA256


def test_a_known_digest_wins_over_the_one_of_the_host(server, path):
    server.google_hash("/model", data=b"another")
    fetch(server, path, digests={"md5": hashlib.md5(DATA).hexdigest()})
    assert read(path) == DATA


def test_a_busy_server_is_asked_again(server, path):
    server.first["/model"] = [503, 429, 500]
    assert fetch(server, path) == SHA256
    assert len(server.asked) == 4


def test_a_server_that_stays_busy_is_given_up(server, path):
    server.first["/model"] = [503] * 99
    with pytest.raises(ConnectionError, match=r"/model: status 503\.$"):
        fetch(server, path)
    assert len(server.asked) == 1 + len(download.WAITS)


def test_tries_that_bring_something_do_not_count(server, path):
    server.first["/model"] = [("break", 101)] * 17
    assert fetch(server, path) == SHA256
    assert len(server.asked) == 18


def test_what_has_arrived_is_kept_when_the_server_is_given_up(server, path):
    server.first["/model"] = [("break", 1019)] + [503] * 99
    with pytest.raises(ConnectionError, match="1019 bytes are kept; the same command continues"):
        fetch(server, path)
    del server.first["/model"], server.asked[:]
    assert fetch(server, path) == SHA256
    assert server.ranges == ["bytes=1019-"]


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_not_asked_again(server, path, status):
    server.first["/model"] = [status]
    with pytest.raises(HfHubHTTPError) as caught:
        fetch(server, path)
    assert caught.value.response.status_code == status
    assert len(server.asked) == 1


def test_no_network_is_reported_soon(home, path, monkeypatch):
    waits = []
    monkeypatch.setattr(download.time, "sleep", waits.append)
    monkeypatch.setattr(download, "WAITS", (1.0, 2.0, 4.0))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(ConnectionError, match=r"/model: .*[Cc]onnection refused\.$"):
        download.download(Source(f"http://127.0.0.1:{port}/model"), path)
    assert waits == [1.0, 2.0]


def test_pauses_grow_and_a_busy_server_may_name_its_own(server, path, monkeypatch):
    waits = []
    monkeypatch.setattr(download.time, "sleep", waits.append)
    monkeypatch.setattr(download, "WAITS", (1.0, 2.0, 4.0))
    server.first["/model"] = [("break", 0), ("break", 0), 503]
    fetch(server, path)
    assert waits == [1.0, 2.0, 0.0]  # this one answers Retry-After: 0


def test_a_redirect_is_followed(server, path):
    server.files["/elsewhere"] = DATA
    server.first["/model"] = [("redirect", "/elsewhere")]
    leave_part(path, DATA[:1021])
    assert fetch(server, path) == SHA256
    assert server.paths == ["/model", "/elsewhere"]
    assert server.ranges == ["bytes=1021-"] * 2


def test_a_redirect_to_plain_http_is_refused(server, path):
    with file_server.running() as other:
        other.files["/model"] = DATA
        server.first["/model"] = [("redirect", f"{other.url}/model")]
        with pytest.raises(InputError, match="redirects to http://.*not encrypted; refused"):
            fetch(server, path)
        assert other.asked == []


def test_the_token_is_not_shown_where_a_redirect_leads(server, path, monkeypatch):
    monkeypatch.setattr(download, "_origin", lambda _: "the same")
    with file_server.running() as other:
        other.files["/model"] = DATA
        server.first["/model"] = [("redirect", f"{other.url}/model")]
        fetch(server, path, headers=TOKEN)
        assert server.asked[0][1]["Authorization"] == "Bearer abc"
        assert "Authorization" not in other.asked[0][1]


def test_redirects_come_to_an_end(server, path):
    server.first["/model"] = [("redirect", "/model")] * 99
    with pytest.raises(InputError, match="redirects more than"):
        fetch(server, path)


def test_the_token_is_shown_to_the_host_it_is_for_alone(server, path, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    fetch(server, path, headers=TOKEN)
    fetch(server, path)
    shown = [headers.get("Authorization") for _, headers in server.asked]
    assert shown == ["Bearer abc", None]


@pytest.mark.parametrize("header", ["bytes 7-9/10", "bytes 10310-10311/10312", ""])
def test_a_range_that_was_not_asked_for_is_refused(server, path, header):
    leave_part(path, DATA[:1031])
    server.first["/model"] = [("range", header)]
    with pytest.raises(InputError, match="asked for its bytes from 1031 on, and answered"):
        fetch(server, path)
    assert read(f"{path}.part") == DATA[:1031]


def test_too_little_space_is_refused_before_it_is_used(server, path, monkeypatch):
    usage = shutil.disk_usage(os.path.dirname(path))._replace(free=len(DATA) - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(InputError, match=rf"needs {len(DATA)} bytes .* {len(DATA) - 1} are free"):
        fetch(server, path)


def test_an_address_without_a_host(path):
    with pytest.raises(InputError, match="http:// is not an address"):
        download.download(Source("http://"), path)


def test_an_interrupted_fetch_says_what_is_kept(server, path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    leave_part(path, DATA[:1039])
    monkeypatch.setattr(download, "_answer", interrupt)
    with pytest.raises(UnfinishedError, match="/model: interrupted. 1039 bytes are kept"):
        fetch(server, path)


def test_progress_counts_what_was_there(server, path, monkeypatch):
    shown = []

    class Shown:
        def __init__(self, label, total, unit, done):
            shown.append((label, total, done))

        def advance(self, amount):
            shown.append(amount)

        def close(self):
            shown.append("closed")

    monkeypatch.setattr(download, "Progress", Shown)
    monkeypatch.setattr(download, "_SHOWN_FROM", 1)
    leave_part(path, DATA[:1033])
    server.first["/model"] = [("break", 211)]
    fetch(server, path)
    second = shown.index("closed") + 1
    assert shown[0] == ("model", len(DATA), 1033) and sum(shown[1 : second - 1]) == 211
    assert shown[second] == ("model", len(DATA), 1244) and shown[-1] == "closed"
    assert 1244 + sum(shown[second + 1 : -1]) == len(DATA)
