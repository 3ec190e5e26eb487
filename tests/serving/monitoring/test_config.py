import pytest

from bert_tf.errors import InputError
from serving.monitoring import config


def path(tmp_path, text):
    file = tmp_path / "monitoring.config"
    file.write_text(text)
    return config.prometheus_path(str(file))


def test_the_page_has_a_path_only_where_it_is_enabled(tmp_path):
    assert config.prometheus_path(None) is None
    assert path(tmp_path, "") is None
    assert path(tmp_path, 'prometheus_config { path: "/metrics" }') is None
    assert path(tmp_path, 'prometheus_config { enable: true, path: "/metrics" }') == "/metrics"
    # TensorFlow Serving's own path, where none is given.
    default = "/monitoring/prometheus/metrics"
    assert path(tmp_path, "prometheus_config: { enable: true }") == default


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prometheus_config { enable: yes }", "Invalid protobuf file"),
        ('prometheus_config { enable: true path: "metrics" }', "must begin with '/'"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        path(tmp_path, text)
