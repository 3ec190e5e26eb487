import asyncio
import functools
import gzip
import os

import pytest

from serving.rest_api import bodies
from serving.rest_api.limits import Limits, RequestTooLargeError
from serving.status import ServingError

# Without the time: it would be in the names of tests, which processes must agree on.
compressed = functools.partial(gzip.compress, mtime=0)

LIMITS = Limits(request_bytes=10**6, text_bytes=10**6)


def receive(parts, headers=(), receiver=None):
    """What a receiver makes of the parts; None among them is a client that goes away."""
    messages = [
        {"type": "http.request", "body": part, "more_body": index < len(parts) - 1}
        if part is not None
        else {"type": "http.disconnect"}
        for index, part in enumerate(parts)
    ]

    async def run():
        async def next_message():
            return messages.pop(0)

        receiver_ = receiver or bodies.BodyReceiver(LIMITS)
        body = await receiver_.receive(dict(headers), next_message)
        try:
            return content_of(body), body.gzipped, body.content is not None
        finally:
            body.close()

    return asyncio.run(run())


def content_of(body):
    if body.content is not None:
        return body.content
    content = os.pread(body.file, 2**23, 0)
    assert len(content) == body.size
    return content


GZIP = [(b"content-encoding", b"gzip")]
SMALL, LARGE = b"a" * 2**16, b"b" * (2**16 + 1)


@pytest.mark.parametrize(
    ("parts", "in_memory"),
    [
        ([b""], True),
        ([b"a", b"", b"b"], True),
        ([SMALL[:100], SMALL[100:]], True),
        ([LARGE], False),
        ([b"a", LARGE, b"c" * 10**5, b""], False),
        ([b"abc"] * 30_000, False),
    ],
)
def test_small_bodies_are_in_memory_and_large_ones_in_a_file(parts, in_memory):
    assert receive(parts) == (b"".join(parts), False, in_memory)


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (SMALL, (SMALL, False, True)),
        (LARGE, (LARGE, False, False)),
        (b" " * (2**22 - 1), (b" " * (2**22 - 1), False, False)),
    ],
)
def test_gzip_is_inflated(content, want):
    assert receive([gzip.compress(content)], GZIP) == want


def test_what_inflates_to_much_is_left_to_the_worker():
    packed = gzip.compress(b" " * (2**22 + 1))
    assert receive([packed], GZIP) == (packed, True, False)
    noise = os.urandom(100_000)
    packed = gzip.compress(noise)
    assert receive([packed], GZIP) == (packed, True, False)


@pytest.mark.parametrize("body", [b"no gzip", b"", compressed(SMALL)[:-3], compressed(LARGE)[:-3]])
def test_what_does_not_inflate_is_empty(body):
    assert receive([body], GZIP) == (b"", False, True)


def test_a_declared_size_beyond_the_limit_is_refused_unread():
    headers = [(b"content-length", b"1000001")]
    with pytest.raises(RequestTooLargeError, match="1000001 bytes or more; the limit is 1000000"):
        receive([], headers)


@pytest.mark.parametrize("parts", [[b"a" * 999_999, b"aa", None], [b"a" * 1_000_001]])
def test_more_than_the_limit_is_refused(parts):
    with pytest.raises(RequestTooLargeError, match="--rest_api_max_request_bytes"):
        receive(parts)
    small = bodies.BodyReceiver(Limits(10, 10))
    with pytest.raises(RequestTooLargeError, match="11 bytes or more; the limit is 10"):
        receive([b"a" * 11], receiver=small)
    assert receive([b"a" * 10], receiver=small)[0] == b"a" * 10


@pytest.mark.parametrize("parts", [[None], [b"a", None], [LARGE, None]])
def test_a_client_that_goes_away(parts):
    with pytest.raises(bodies.ClientGoneError):
        receive(parts)


def test_too_many_large_bodies_at_a_time():
    receiver = bodies.BodyReceiver(Limits(10**5, 10))

    async def run():
        async def part():
            return {"type": "http.request", "body": b"a" * 90_000}

        held = [await receiver.receive({}, part) for _ in range(4)]
        with pytest.raises(ServingError, match="UNAVAILABLE: Too many large requests at once"):
            await receiver.receive({}, part)
        held.pop().close()
        held.append(await receiver.receive({}, part))
        for body in held:
            body.close()

    asyncio.run(run())
