"""What stands in the HLO text that TensorFlow hands to XLA."""

import re

_INSTRUCTION = re.compile(r"^ +(?:ROOT )?%?\S+ = (\(.*?\)|\S+) ([a-z][a-z0-9-]*)\(", re.MULTILINE)
_DYNAMIC = {"set-dimension-size", "get-dimension-size", "dynamic-reshape"}
_ON_HOST = {"custom-call", "infeed", "outfeed", "send", "recv", "send-done", "recv-done"}


def instructions(text):
    """List of (shape, opcode)."""
    return _INSTRUCTION.findall(text)


def not_static(text):
    """Set of texts: what has a shape that is known only when it runs."""
    return {f"{shape} {op}" for shape, op in instructions(text) if op in _DYNAMIC or "<=" in shape}


def needs_host(text):
    """Set of opcodes that leave the device."""
    return {op for _, op in instructions(text)} & _ON_HOST
