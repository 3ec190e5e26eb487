"""Numbers as people read them, rounded to what they mean: the one home of how they are shown.

Files for programs (metrics.jsonl, scores.jsonl, JSON) keep every digit; these texts are for
terminals, reports and result files.
"""

import math

_LETTERS = (
    (1e21, "Z"), (1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")
)  # fmt: skip
_SMALL = 1e-3  # below it zeros are hard to count, and people write 2e-5
_LARGE = 1e15


def number(value: float, digits: int = 4, plain_from: float = _SMALL) -> str:
    """A number with `digits` significant digits: "7.742", "0.0125", "12,346", "2e-5".

    Integers, and digits before the decimal point, are kept whole.

    Args:
      plain_from: below it an exponent is written, as from 10^15 on.
    """
    if isinstance(value, int) or value == 0:
        return f"{int(value):,}"
    if not math.isfinite(value):
        return str(value)
    if not plain_from <= abs(value) < _LARGE:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{_without_zeros(mantissa)}e{int(power)}"
    before_point = math.floor(math.log10(abs(value))) + 1
    return _without_zeros(f"{value:,.{max(0, digits - before_point)}f}")


def percent(share: float, digits: int = 3) -> str:
    """A share, 1 being all: "43.2 %", "0.05 %", "100 %"."""
    return f"{number(100.0 * share, digits)} %"


def abbreviated(value: float, unit: str = "", digits: int = 3) -> str:
    """A large number in few characters: "28.5 M", "1.23 TFLOP", "950".

    Args:
      unit: follows the letter without a space: "FLOP", "B".
    """
    for size, letter in _LETTERS:
        # What rounds up to the next letter has it: 999,999 is 1 M.
        if abs(value) >= size * (1 - 0.5 * 10.0**-digits):
            return f"{number(value / size, digits)} {letter}{unit}"
    return f"{number(value, digits)} {unit}".rstrip()


def size(num_bytes: float) -> str:
    """Bytes with a unit, 1 kB being 1000: "694 MB", "1.23 GB", "512 bytes"."""
    return f"{number(num_bytes)} bytes" if num_bytes < 1000 else abbreviated(num_bytes, "B")


def rate(per_second: float, unit: str) -> str:
    """A speed: "3.25 steps/s", "4,412 tokens/s", "189 MB/s".

    Args:
      unit: in the plural; "bytes" gives kB, MB or GB.
    """
    if unit == "bytes":
        return f"{size(round(per_second))}/s"
    return f"{number(per_second, 3)} {unit}/s"


def duration(seconds: float) -> str:
    """A time of at most two units: "840 ms", "3.2 s", "1 min 30 s", "2 h 5 min", "3 d 4 h"."""
    if 0 < seconds < 0.9995:
        return f"{number(1000.0 * seconds, 3)} ms"
    if seconds < 59.5:
        return f"{number(seconds, 3)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(whole / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(whole / 3600)
    return f"{hours // 24} d {hours % 24} h"


def _without_zeros(text: str) -> str:
    """Drops zeros at the end of a decimal fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text
