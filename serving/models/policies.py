"""Which of a model's versions are to be served: the version policies of TensorFlow Serving."""

import dataclasses
from collections.abc import Collection


@dataclasses.dataclass(frozen=True)
class Latest:
    """The largest `num_versions` versions."""

    num_versions: int = 1

    def wanted(self, on_disk: Collection[int], failed: Collection[int]) -> set[int]:
        """The versions to serve.

        As long as all of them have failed, the largest version that has not failed is wanted too.
        TensorFlow Serving does not go back to it: there a broken export is no more than the version
        that serves already, but a restart ends with an error.

        Args:
          on_disk: all versions that there are.
          failed: those whose load has failed.
        """
        newest = sorted(on_disk, reverse=True)
        wanted = set(newest[: self.num_versions])
        if wanted <= set(failed):
            wanted.update([version for version in newest if version not in failed][:1])
        return wanted


@dataclasses.dataclass(frozen=True)
class All:
    """Every version."""

    def wanted(self, on_disk: Collection[int], failed: Collection[int]) -> set[int]:
        """See `Latest.wanted`."""
        return set(on_disk)


@dataclasses.dataclass(frozen=True)
class Specific:
    """These versions, and no others in their place."""

    versions: frozenset[int]

    def wanted(self, on_disk: Collection[int], failed: Collection[int]) -> set[int]:
        """See `Latest.wanted`."""
        return set(self.versions) & set(on_disk)


Policy = Latest | All | Specific
