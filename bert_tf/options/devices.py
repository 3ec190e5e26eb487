"""Flags of the devices that a script runs on."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Devices:
    """The devices that a script runs on."""

    use_tpu: bool = option(False, "Run on a TPU; see docs/tpu.md. The other TPU flags need it.")
    tpu_name: str | None = option(
        None,
        "Name of the TPU, grpc://host:port, or local for that of a TPU VM. None: --master, else "
        "the environment variable TPU_NAME, else local.",
    )
    tpu_zone: str | None = option(None, "Zone of --tpu_name; none: that of this machine.")
    gcp_project: str | None = option(None, "Project of --tpu_name; none: that of this machine.")
    master: str | None = option(None, "grpc://host:port of the TPU, in place of --tpu_name.")
    num_tpu_cores: int = option(
        8, "Cores of the TPU. All are used; a number other than 8 must match it."
    )
    distribution_strategy: str = option(
        "auto",
        "(new) one_device; mirrored: a replica on each local device; multi_worker: over the "
        "processes in the environment variable TF_CONFIG; auto: multi_worker where that is set, "
        "mirrored where there is more than one GPU.",
        choices=("auto", "one_device", "mirrored", "multi_worker"),
    )

    def __post_init__(self) -> None:
        if self.use_tpu and self.distribution_strategy != "auto":
            raise InputError(
                f"--use_tpu=true and --distribution_strategy={self.distribution_strategy} exclude "
                "each other: a TPU has its own strategy. Leave one out."
            )
        if self.use_tpu and self.tpu_name and self.master:
            raise InputError(
                f"--tpu_name={self.tpu_name} and --master={self.master} both name the TPU; leave "
                "one out."
            )
