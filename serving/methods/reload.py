"""HandleReloadConfigRequest: other models, versions and labels without a restart."""

import asyncio
from collections.abc import Sequence
from typing import Any

from serving.methods.core import Core
from serving.monitoring.metrics import Counter, Metrics


async def reload(core: Core, configs: Sequence[Any]) -> None:
    """Replaces the configuration, and waits until every model of the new one is available.

    Models that it leaves out are unloaded.

    Args:
      configs: ModelConfig messages (tensorflow_serving/config/model_server_config.proto).

    Raises:
      ServingError: the configuration is refused, or a model cannot be loaded.
    """
    loop = asyncio.get_running_loop()
    # A thread of its own: loading takes long, and must not keep one from requests.
    await loop.run_in_executor(None, core.models.configure, configs)


def counters(metrics: Metrics, names: Sequence[str]) -> dict[str, int]:
    """Values of counters by name, over all labels; 0 for what is not one.

    Args:
      names: with slashes, as TensorFlow calls them, or with colons, as Prometheus does.
    """
    known = {each.name: each for each in vars(metrics).values() if isinstance(each, Counter)}
    values = {}
    for name in names:
        counter = known.get(name.replace("/", ":"))
        values[name] = round(counter.total()) if counter else 0
    return values
