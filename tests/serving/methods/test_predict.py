"""Predict as both transports call it."""

import asyncio

import numpy as np
import pytest

from serving.methods import predict
from serving.models.spec import ModelSpec
from serving.status import Code, ServingError, invalid

SPEC = ModelSpec("tiny")


def feeds_of(servable):
    return {"text": np.array([b"ab", b"cde"], object)}


def ask(core, spec=SPEC, feeds=feeds_of, **options):
    return asyncio.run(predict.predict(core, spec, feeds, **options))


def test_the_answer_says_which_version_gave_it(core):
    answer = ask(core, ModelSpec("tiny", label="stable"))
    assert answer.servable.version == 7
    assert list(answer.outputs) == ["length", "thirds", "upper"]
    assert answer.outputs["upper"].tolist() == [b"AB", b"CDE"]
    assert answer.signature.outputs["length"].dtype == "int32"


def test_feeds_may_take_a_while_and_the_lease_lasts(core):
    async def slow(servable):
        await asyncio.sleep(0)
        assert core.models.leases == 1
        return feeds_of(servable)

    assert ask(core, feeds=slow, outputs=["length"]).outputs["length"].tolist() == [2, 3]
    assert core.models.leases == 0


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (
            ["length", "no"],
            "output tensor alias not found in signature: no Outputs expected to be in the set "
            "{length,thirds,upper}.",
        ),
        (["length", "length"], "duplicate output tensor alias: length"),
    ],
)
def test_outputs_are_checked_by_name(core, outputs, message):
    with pytest.raises(ServingError) as raised:
        ask(core, outputs=outputs)
    assert (raised.value.code, raised.value.message) == (Code.INVALID_ARGUMENT, message)


def test_a_request_without_a_model_name_is_refused(core):
    with pytest.raises(ServingError, match=r"ModelSpec has no name specified\."):
        ask(core, ModelSpec(""))


def test_errors_of_the_feeds_end_the_lease(core):
    def refuse(servable):
        raise invalid("bad JSON")

    with pytest.raises(ServingError, match="bad JSON"):
        ask(core, feeds=refuse)
    assert core.models.leases == 0
