import socket

import pytest

from bert_tf.errors import InputError
from serving import ports


def test_a_bound_port_refuses_clients_until_somebody_listens():
    with ports.bound("port", "127.0.0.1", 0) as listener:
        address = listener.getsockname()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        listener.listen()
        socket.create_connection(address).close()
        with (
            pytest.raises(InputError, match="--port=.*Address already in use.* 0 turns this API"),
            ports.bound("port", *address),
        ):
            pass


def test_a_host_that_is_not_this_machine_is_reported():
    with (
        pytest.raises(InputError, match="--port=1 on --host=203.0.113.1 cannot be used"),
        ports.bound("port", "203.0.113.1", 1),
    ):
        pass


@pytest.mark.parametrize(
    ("host", "authority"),
    [
        ("127.0.0.1", "localhost:80"),
        ("0.0.0.0", "localhost:80"),
        ("::1", "localhost:80"),
        ("2001:db8::1", "[2001:db8::1]:80"),
        ("example.org", "example.org:80"),
    ],
)
def test_how_a_client_here_names_it(host, authority):
    assert ports.authority(host, 80) == authority
