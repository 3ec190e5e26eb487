"""How many CPUs this process may use: fewer than the machine has, in a container or by affinity."""

import math
import os
import pathlib

_CGROUP = pathlib.Path("/sys/fs/cgroup")


def available(cgroup: pathlib.Path = _CGROUP) -> int:
    """CPUs that this process may run on, limited by the CPU time that its container gets.

    TensorFlow, and `os.cpu_count`, see all CPUs of a machine where a container has a share of
    them, and threads beyond that share are stopped in the middle of their work.

    Args:
      cgroup: directory of the control group, of version 2 or 1.
    """
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    count = affinity or os.cpu_count() or 1
    quota = _quota(cgroup)
    return count if quota is None else max(1, min(count, math.ceil(quota)))


def _quota(cgroup: pathlib.Path) -> float | None:
    """CPU seconds per second that the control group gets; None: no limit is known."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            words = [word for name in names for word in (cgroup / name).read_text().split()]
            limit, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):  # "max" is no number
            continue
        if limit > 0 and period > 0:
            return limit / period
    return None
