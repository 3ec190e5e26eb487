import pytest

from serving.models.policies import All, Latest, Specific


@pytest.mark.parametrize(
    ("policy", "on_disk", "wanted"),
    [
        (Latest(), {1, 2, 10}, {10}),
        (Latest(2), {1, 2, 10}, {2, 10}),
        (Latest(5), {1, 2}, {1, 2}),
        (Latest(), set(), set()),
        (All(), {1, 2, 10}, {1, 2, 10}),
        (Specific(frozenset({2, 3})), {1, 2, 10}, {2}),
    ],
)
def test_the_policies(policy, on_disk, wanted):
    assert policy.wanted(on_disk, failed=()) == wanted


@pytest.mark.parametrize(
    ("failed", "wanted"),
    [({4}, {4, 3}), ({4, 3}, {4, 2}), ({4, 3, 2, 1}, {4}), ({3}, {4}), ({2, 1}, {4})],
)
def test_of_broken_newest_versions_the_one_below_is_wanted_too(failed, wanted):
    assert Latest().wanted({1, 2, 3, 4}, failed) == wanted


def test_two_latest_versions_are_enough_if_one_of_them_is_good():
    assert Latest(2).wanted({1, 2, 3}, failed={3}) == {2, 3}
    assert Latest(2).wanted({1, 2, 3}, failed={2, 3}) == {1, 2, 3}


def test_specific_versions_are_never_replaced():
    assert Specific(frozenset({3})).wanted({1, 2, 3}, failed={3}) == {3}
