"""Connections without sockets, in an event loop whose clock the tests set."""

import asyncio
import json

import pytest
import uvicorn
from uvicorn.server import ServerState

from serving.rest_api import protocol

HEADER_SECONDS, CLIENT_SECONDS = 10, 50
REQUEST = b"POST /p HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n"


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be moved."""

    ahead = 0.0

    def time(self):
        return super().time() + self.ahead

    def turn(self, seconds=0.0):
        """Moves the clock, and runs what is due and what follows from it."""
        self.ahead += seconds
        for _ in range(5):
            self.run_until_complete(asyncio.sleep(0))


class Transport(asyncio.Transport):
    """Remembers what is written; closed for good only when the test says so."""

    def __init__(self):
        super().__init__()
        self.written = b""
        self.closing = self.aborted = self.paused = False

    def write(self, data):
        self.written += data

    def is_closing(self):
        return self.closing

    def close(self):
        self.closing = True

    def abort(self):
        self.closing = self.aborted = True

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False


class Connection:
    """A protocol, its transport, and an application that echoes once it is told to."""

    def __init__(self, loop):
        self.loop, self.transport = loop, Transport()
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.gone = 0
        make = protocol.protocol_class(HEADER_SECONDS, CLIENT_SECONDS)
        config = uvicorn.Config(
            self.application, interface="asgi3", lifespan="off", ws="none", log_config=None
        )
        self.state = ServerState()
        self.protocol = make(config=config, server_state=self.state, app_state={}, _loop=loop)
        self.protocol.connection_made(self.transport)

    async def application(self, scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone += 1
                return
            body, more = body + message["body"], message["more_body"]
        await self.go_on.wait()
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})

    def send(self, data, seconds=0.0):
        self.protocol.data_received(data)
        self.loop.turn(seconds)

    def answers(self):
        """Status, whether the connection ends, and body of each answer."""
        rest, answers = self.transport.written, []
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            answers.append((int(head.split()[1]), b"connection: close" in head, rest[:length]))
            rest = rest[length:]
        return answers


@pytest.fixture
def connection():
    loop = Loop()
    asyncio.set_event_loop(loop)
    connection = Connection(loop)
    yield connection
    connection.protocol.connection_lost(None)
    loop.turn()
    asyncio.set_event_loop(None)
    loop.close()


OK = (200, False, b"body")


def test_requests_one_after_the_other(connection):
    for _ in range(2):
        connection.send(REQUEST + b"bo")
        connection.send(b"dy")
    assert connection.answers() == [OK, OK]
    assert not connection.transport.closing


@pytest.mark.parametrize("sent", [b"", b"\r\n", b"POST /p HTT", REQUEST[:-2]])
def test_headers_have_a_time_limit(connection, sent):
    connection.send(sent)
    connection.loop.turn(HEADER_SECONDS - 1)
    assert not connection.transport.closing
    connection.loop.turn(2)
    assert connection.transport.closing
    statuses = [status for status, _, _ in connection.answers()]
    assert statuses == ([408] if sent.strip() else [])


def test_headers_that_drip_do_not_have_more_time(connection):
    for byte in REQUEST[:11]:
        connection.send(bytes([byte]), seconds=1)
    ((status, closes, body),) = connection.answers()
    assert (status, closes) == (408, True)
    assert json.loads(body) == {"error": "Timed out while the request was received"}


def test_a_pause_within_a_body_has_a_time_limit(connection):
    connection.send(REQUEST + b"bo", seconds=CLIENT_SECONDS - 1)
    assert connection.answers() == []
    connection.loop.turn(2)
    assert [status for status, _, _ in connection.answers()] == [408]
    assert connection.transport.closing
    assert connection.gone == 1  # the application does not wait for more


def test_a_body_may_take_long_but_not_drip(connection):
    head = b"POST /p HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n"
    connection.send(head)
    for _ in range(10):
        connection.send(b"a" * 50_000, seconds=40)
    assert connection.answers() == []
    drips = Connection(connection.loop)
    drips.send(head)
    for _ in range(3):
        drips.send(b"a", seconds=20)
    assert [status for status, _, _ in drips.answers()] == [408]
    drips.protocol.connection_lost(None)


def test_an_idle_connection_is_closed_without_a_word(connection):
    connection.send(REQUEST + b"body")
    connection.loop.turn(CLIENT_SECONDS - 1)
    assert not connection.transport.closing
    connection.loop.turn(2)
    assert connection.transport.closing
    assert connection.answers() == [OK]


def test_a_client_that_does_not_read_is_cut_off(connection):
    connection.protocol.pause_writing()
    connection.loop.turn(CLIENT_SECONDS - 1)
    connection.protocol.resume_writing()
    connection.loop.turn(2)
    assert not connection.transport.aborted
    connection.protocol.pause_writing()
    connection.loop.turn(CLIENT_SECONDS + 1)
    assert connection.transport.aborted


def test_a_closed_connection_that_is_not_read_to_its_end_is_cut_off(connection):
    connection.send(REQUEST.replace(b"host", b"connection: close\r\nhost") + b"body")
    assert connection.transport.closing and not connection.transport.aborted
    connection.loop.turn(CLIENT_SECONDS + 1)
    assert connection.transport.aborted


def test_a_half_closed_connection_still_gets_its_answers(connection):
    connection.go_on.clear()
    connection.send((REQUEST + b"body") * 2)
    assert connection.protocol.eof_received() is True
    connection.loop.turn()
    assert not connection.transport.closing
    connection.go_on.set()
    connection.loop.turn()
    assert connection.answers() == [OK, OK]
    assert connection.transport.closing


@pytest.mark.parametrize("sent", [b"", b"POST /p", REQUEST + b"bo", REQUEST + b"body"])
def test_a_half_closed_connection_with_nothing_to_answer_ends(connection, sent):
    connection.send(sent)
    connection.protocol.eof_received()
    assert connection.transport.closing


def test_a_client_that_offers_http2_goes_on_in_http1(connection):
    offer = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMA\r\nhost"
    for chunk in (REQUEST.replace(b"host", offer) + b"bo", b"dy", REQUEST + b"body"):
        connection.send(chunk)
    assert connection.answers() == [OK, OK]


def test_connect_is_refused(connection):
    connection.send(b"CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n")
    assert [status for status, _, _ in connection.answers()] == [400]


def test_when_the_server_stops_requests_in_progress_are_answered(connection):
    connection.go_on.clear()
    connection.send(REQUEST + b"body")
    connection.protocol.shutdown()
    connection.loop.turn(3600)  # how long a model may take is not decided here
    assert not connection.transport.closing
    connection.go_on.set()
    connection.loop.turn()
    assert connection.answers() == [(200, True, b"body")]
    assert connection.transport.closing


def test_when_the_server_stops_an_idle_connection_has_a_moment_for_a_last_request(connection):
    other = Connection(connection.loop)
    for each in (connection, other):
        each.send(REQUEST + b"body")
        each.protocol.shutdown()
    connection.loop.turn(0.5)
    connection.send(REQUEST + b"body")
    assert connection.answers() == [OK, (200, True, b"body")]
    assert connection.transport.closing and not other.transport.closing
    connection.loop.turn(1)
    assert other.transport.closing
    other.protocol.connection_lost(None)


@pytest.mark.parametrize("sent", [REQUEST[:-2], REQUEST + b"bo"])
def test_when_the_server_stops_half_a_request_has_a_few_seconds(connection, sent):
    connection.send(sent)
    connection.protocol.shutdown()
    for _ in range(4):
        connection.loop.turn(1)
    assert connection.answers() == []
    connection.loop.turn(2)
    ((status, closes, body),) = connection.answers()
    assert (status, closes) == (503, True)
    assert json.loads(body) == {"error": "The server is stopping"}
    assert connection.transport.closing
