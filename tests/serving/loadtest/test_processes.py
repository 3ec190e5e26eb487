"""How processes share a load."""

import pytest

from serving.client.settings import Tls
from serving.loadtest import processes
from serving.loadtest.connections import Server
from serving.loadtest.worker import Load


@pytest.mark.parametrize("rate", [None, 90.0])
def test_shares_add_up_and_begin_with_different_requests(rate):
    load = Load(
        server=Server("localhost:1", "/", Tls()),
        bodies=[],
        concurrency=8,
        rate=rate,
        start=0.0,
        warmup_seconds=1.0,
        seconds=1.0,
        timeout_seconds=1.0,
        seed=5,
    )
    shares = [processes._share(load, number, 3) for number in range(3)]
    assert [share.concurrency for share in shares] == [3, 3, 2]
    assert [share.rate for share in shares] == [rate and 30.0] * 3
    assert [share.seed for share in shares] == [5, 6, 7]
