"""What images of a small table lack for uses of its operations."""

import pytest

from export.images import registry
from export.images.graph import Use
from tests.reference.image_table import BFLOAT16, FLOAT, INT32, serialized

pytestmark = pytest.mark.usefixtures("small_table")


def missing(image, operation, num_inputs=1, producer=300, **values):
    """What the image lacks; values are those of attributes, such as `T={"type": 1}`."""
    attributes = frozenset((name, serialized(**value)) for name, value in values.items())
    return registry.missing(Use(operation, attributes, num_inputs), producer, image)


def test_an_operation_is_there_from_its_first_image_to_its_last():
    assert [missing(image, "Late") for image in ("1.1", "1.2", "1.3")] == ["Late", None, None]
    assert [missing(image, "Gone") for image in ("1.1", "1.2", "1.3")] == [None, None, "Gone"]
    assert missing("1.3", "None") == "None"


def test_a_deprecated_operation_is_refused_in_graphs_that_are_newer():
    assert missing("1.1", "Old", producer=149) is None
    assert missing("1.1", "Old", producer=150) == "Old"


def test_a_type_that_an_image_does_not_allow_is_named():
    assert missing("1.2", "Typed", T={"type": FLOAT}) is None
    assert missing("1.2", "Typed", T={"type": BFLOAT16}) == "T=bfloat16 of Typed"
    assert missing("1.3", "Typed", T={"type": BFLOAT16}) is None


def test_a_value_of_another_type_is_refused():
    assert missing("1.3", "Typed", T={"i": 1}) == "T=1 of Typed"


def test_an_attribute_that_an_image_does_not_know_must_have_its_default():
    known = {"T": {"type": INT32}}
    assert missing("1.1", "Grown", **known, flag={"b": False}) is None
    assert missing("1.1", "Grown", **known, flag={"b": True}) == "attribute flag=True of Grown"
    assert missing("1.2", "Grown", **known, flag={"b": True}) is None
    assert missing("1.2", "Grown", **known, flog={"b": True}) == "attribute flog=True of Grown"


def test_an_attribute_that_nothing_depends_on_may_be_unknown():
    assert missing("1.1", "Noted", debug_name={"s": b"weights"}) is None


def test_another_number_of_inputs_is_named():
    assert missing("1.3", "Grown", 2, T={"type": FLOAT}) is None
    assert missing("1.2", "Grown", 2, T={"type": FLOAT}) == "Grown with 2 inputs"


def test_inputs_are_counted_by_their_attributes():
    assert missing("1.3", "Lenient", 3, n={"i": 3}) is None
    assert missing("1.3", "Lenient", 2, n={"i": 3}) == "Lenient with 2 inputs"
    types = {"list": {"type": [FLOAT, INT32, FLOAT]}}
    assert missing("1.1", "Many", 3, Tin=types) is None
    assert missing("1.1", "Many", 1, Tin=types) == "Many with 1 inputs"


def test_an_attribute_without_a_default_must_be_there():
    assert missing("1.1", "Lenient", 2, n={"i": 2}) == "a default for attribute mode of Lenient"
    assert missing("1.1", "Lenient", 2, n={"i": 2}, mode={"s": b"fancy"}) is None
    assert missing("1.3", "Lenient", 2, n={"i": 2}) is None


def test_a_default_must_be_that_of_the_newest_image():
    assert missing("1.1", "Moved") == "today's default for attribute mode of Moved"
    assert missing("1.1", "Moved", mode={"s": b"plain"}) is None


def test_strings_and_sizes_have_limits():
    assert missing("1.3", "Moved", mode={"s": b"odd"}) == "mode='odd' of Moved"
    assert missing("1.3", "Lenient", 1, n={"i": 1}) == "n=1 of Lenient"
    assert missing("1.3", "Many", 0, Tin={"list": {}}) == "Tin=(list) of Many"


def test_a_kernel_that_the_newest_image_has_must_be_there():
    assert missing("1.1", "Fast", T={"type": FLOAT}) is None
    wanted = "a CPU kernel of Fast for T=bfloat16"
    assert missing("1.1", "Fast", T={"type": BFLOAT16}) == wanted
    assert missing("1.2", "Fast", T={"type": BFLOAT16}) is None
    assert missing("1.1", "Fast", T={"type": INT32}) is None  # nor has the newest


def test_what_a_caller_fills_in_is_not_judged():
    assert missing("1.1", "Typed", T={"placeholder": "T"}) is None
