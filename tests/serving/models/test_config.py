import pytest
from tensorflow_serving.config import model_server_config_pb2

from bert_tf.errors import InputError
from serving import options
from serving.models import config
from serving.models.policies import All, Latest, Specific
from serving.status import Code, ServingError

FULL = """
model_config_list {
  config { name: "a" base_path: "/models/a" model_platform: "tensorflow" }
  config {
    name: "b" base_path: "/models/b" model_platform: "tensorflow"
    model_version_policy { specific { versions: 4 versions: 2 } }
    version_labels { key: "stable" value: 2 }
    version_labels { key: "canary" value: 4 }
    logging_config { sampling_config { sampling_rate: 0.5 } }
  }
  config {
    name: "c" base_path: "/models/c" model_type: TENSORFLOW
    model_version_policy { latest { num_versions: 3 } }
  }
  config {
    name: "d" base_path: "/models/d" model_platform: "tensorflow"
    model_version_policy { all {} }
  }
}
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "models.config"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def test_a_file_with_everything(written):
    a, b, c, d = config.read(written(FULL))
    assert a == config.ModelConfig("a", "/models/a")
    assert (a.policy, b.policy, c.policy, d.policy) == (
        Latest(1),
        Specific(frozenset({2, 4})),
        Latest(3),
        All(),
    )
    assert b.labels == {"stable": 2, "canary": 4}
    assert b.logging.sampling_config.sampling_rate == 0.5


@pytest.mark.parametrize("text", ["", "# nothing yet", "model_config_list {}"])
def test_a_file_may_name_no_model(written, text):
    assert config.read(written(text)) == []


PLATFORM = 'model_platform: "tensorflow"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model_config_list {\n  confg {}\n}", "Error parsing text-format .*Config: 2:3"),
        ("model_config_list {\n  config {\n", "Error parsing text-format .*Config: 2:10"),
        (b"\xff\xfe", "it is not UTF-8 text"),
        (f'{{config {{base_path: "/m" {PLATFORM}}}}}', "to have a name"),
        (
            f'{{config {{name: "m" base_path: "/m" {PLATFORM}}} '
            f'config {{name: "m" base_path: "/n" {PLATFORM}}}}}',
            "Illegal to list model m multiple times in config list",
        ),
        (
            '{config {name: "m" base_path: "/m" model_platform: "caffe"}}',
            "Model m requests unsupported platform caffe",
        ),
        ('{config {name: "m" base_path: "/m"}}', "Illegal setting neither .* model name is m"),
        (
            f'{{config {{name: "m" base_path: "/m" model_type: TENSORFLOW {PLATFORM}}}}}',
            "Illegal setting both .* model name is m",
        ),
        (
            f'{{config {{name: "m" base_path: "models/m" {PLATFORM}}}}}',
            r"Expected model m to have an absolute path or URI; got base_path\(\)=models/m",
        ),
        (f'{{config {{name: "m" base_path: "gs://b/m" {PLATFORM}}}}}', "paths of this machine"),
        ('custom_model_config { type_url: "x" }', "Only ModelConfigList is currently supported"),
    ],
)
def test_what_is_wrong_is_said(written, text, message):
    if isinstance(text, str) and text.startswith("{"):
        text = f"model_config_list {text}"
    path = written(text)
    with pytest.raises(InputError, match=f"--model_config_file={path}.*{message}"):
        config.read(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        config.read(str(tmp_path / "models.config"))


def test_messages_of_a_reload_are_refused_with_a_code():
    message = model_server_config_pb2.ModelServerConfig()
    message.model_config_list.config.add(name="m", base_path="m", model_platform="tensorflow")
    with pytest.raises(ServingError) as raised:
        config.of_messages(message.model_config_list.config)
    assert raised.value.code == Code.INVALID_ARGUMENT


def test_flags_name_one_model_whose_path_may_be_relative():
    (model,) = config.of_flags(options.ModelFlags(model_name="m", model_base_path="models/m"))
    assert model == config.ModelConfig("m", "models/m")


def test_the_file_wins_over_the_other_flags(written):
    flags = options.ModelFlags(model_config_file=written(FULL), model_name="x")
    assert [model.name for model in config.of_flags(flags)] == ["a", "b", "c", "d"]
