"""Values of JSON objects, checked."""

from typing import Any, TypeVar

from bert_tf.errors import InputError

T = TypeVar("T")


def field(holder: Any, key: str, kind: type[T], where: str, default: T | None = None) -> T:
    """`holder[key]`, which must be of type `kind`.

    Args:
      where: what `holder` is, for messages.
      default: what stands for a key that is not there; None: it must be there.

    Raises:
      InputError: it is of another type, or there is none.
    """
    if not isinstance(holder, dict):
        raise InputError(
            f"{where} is a {type(holder).__name__}; an object with {key!r} was wanted."
        )
    if key not in holder and default is not None:
        return default
    if key not in holder:
        raise InputError(f"{where} has no {key!r}, only {', '.join(sorted(holder))}.")
    if not isinstance(holder[key], kind):
        raise InputError(
            f"{where}: {key!r} is a {type(holder[key]).__name__}, wanted a {kind.__name__}."
        )
    return holder[key]
