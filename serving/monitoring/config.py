"""The monitoring configuration: whether there is a page for Prometheus, and under which path."""

from bert_tf.errors import InputError
from serving import text_protos

DEFAULT_PATH = "/monitoring/prometheus/metrics"

_MESSAGES = {
    "PrometheusConfig": {"enable": (1, "bool"), "path": (2, "string")},
    "MonitoringConfig": {"prometheus_config": (1, "PrometheusConfig")},
}


def prometheus_path(file: str | None) -> str | None:
    """The path of the page, or None if it is not enabled.

    Args:
      file: MonitoringConfig in protobuf's text format; None: no page.

    Raises:
      InputError: the file cannot be read, or the path is not one.
    """
    if file is None:
        return None
    what = f"--monitoring_config_file={file}"
    message = text_protos.message_classes(_MESSAGES)["MonitoringConfig"]()
    prometheus = text_protos.parse_file(file, message, what).prometheus_config
    path = prometheus.path or DEFAULT_PATH
    if not path.startswith("/"):
        raise InputError(f"{what}: the path {path!r} must begin with '/', as in {DEFAULT_PATH}.")
    return path if prometheus.enable else None
