"""Flags of the command that writes files for stock TensorFlow Serving."""

import dataclasses
import re

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option

# What Kubernetes takes as the name of an object, short enough for the suffixes that are added.
_OBJECT_NAME = r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?"
_IMAGE = r"[\w.][\w./:@-]*"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Deploy:
    """What is deployed, and how large."""

    model_base_path: tuple[str, ...] = option(
        REQUIRED,
        "Directory whose numeric sub-directories are versions of a model; the model has its name. "
        "The flag is given once for each model.",
        is_path=True,
    )
    output_dir: str = option(REQUIRED, "Directory for the files.", is_path=True)
    deployment_name: str = option(
        "tensorflow-serving", "Name of the objects in Kubernetes, and of the Compose project."
    )
    stable_version: int | None = option(
        None, "Version that the label 'stable' names; none: the largest one without another label."
    )
    canary_version: int | None = option(
        None, "Version that is served under the label 'canary', next to the stable one."
    )
    previous_version: int | None = option(
        None, "Version that stays loaded under the label 'previous', to roll back to at once."
    )
    image: str | None = option(
        None,
        "Tag of tensorflow/serving, or a whole image name; none: the newest known one that can run "
        "the models.",
    )
    replicas: int = option(2, "Servers at least; Kubernetes adds more under load, up to 4 times.")
    cpus: int = option(4, "CPUs of a server; its threads are as many.")
    memory_mib: int | None = option(
        None, "Memory of a server in MiB; none: estimated from the size of the models."
    )
    gpu: bool = option(False, "Give each server a GPU, and take the image for it.")

    def __post_init__(self) -> None:
        if not re.fullmatch(_OBJECT_NAME, self.deployment_name):
            raise InputError(
                f"--deployment_name={self.deployment_name} is no name for Kubernetes: at most 40 "
                "lower-case letters, digits and '-' were wanted, a letter first."
            )
        if self.image is not None and not re.fullmatch(_IMAGE, self.image):
            raise InputError(
                f"--image={self.image} is no image; a tag such as 2.19.1 or a name such as "
                "registry.example.org/serving:2.19.1 was wanted."
            )
        for name in ("replicas", "cpus", "memory_mib"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"--{name}={getattr(self, name)} must be at least 1.")
        chosen = [number for number in self.labels.values() if number is not None]
        if len(chosen) != len(set(chosen)):
            raise InputError(
                "--stable_version, --canary_version and --previous_version must differ; found "
                f"{', '.join(map(str, chosen))}."
            )
        if chosen and len(self.model_base_path) > 1:
            raise InputError(
                "--stable_version, --canary_version and --previous_version are for one model; "
                f"{len(self.model_base_path)} were given. Leave them out, and edit models.config."
            )

    @property
    def labels(self) -> dict[str, int | None]:
        """The version of each label; None: none was given."""
        return {
            "stable": self.stable_version,
            "canary": self.canary_version,
            "previous": self.previous_version,
        }
