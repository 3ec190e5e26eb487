import contextlib
import types

from serving import options, ready


class Manager:
    """A manager whose models take these inputs, by name."""

    def __init__(self, **inputs):
        self._inputs = inputs

    def configs(self):
        return dict.fromkeys(self._inputs)

    def available(self):
        return {name: [1] if inputs else [] for name, inputs in self._inputs.items()}

    @contextlib.contextmanager
    def lease(self, spec):
        signature = types.SimpleNamespace(inputs=self._inputs[spec.name])
        yield types.SimpleNamespace(signature=lambda name: signature)


def lines(manager, **flags):
    return list(ready.lines(options.Server(model_config_file="f", **flags), manager))


def test_one_model():
    addresses, page, question = lines(Manager(m=["text"]), rest_api_port=81, port=80)
    url = "http://localhost:81/v1/models/m"
    assert addresses == (
        f"Ready: POST {url}:predict; GET {url} and {url}/metadata; gRPC on localhost:80. "
        "Ctrl-C or SIGTERM stops."
    )
    assert page == "Try it: http://localhost:81/"
    assert question.endswith('serving.client --url=localhost:81 --model_name=m "a text"')


def test_several_models_those_that_answer_are_named():
    addresses, models, page, question = lines(
        Manager(broken=[], **{"m o": ["text_a", "text_b"]}, n=["x"]), host="2001:db8::1"
    )
    assert "http://[2001:db8::1]:8501/v1/models/NAME:predict" in addresses
    assert models == "Models: m o, n."
    assert "--model_name='m o' --text_a=" in question


def test_without_rest_or_without_models():
    (only,) = lines(Manager(m=["text"]), rest_api_port=0, grpc_socket_path="/s")
    assert only == "Ready: gRPC on localhost:8500; gRPC on unix:/s. Ctrl-C or SIGTERM stops."
    assert len(lines(Manager())) == 1
    assert len(lines(Manager(m=["x"]), enable_page=False)) == 1
    assert len(lines(Manager(m=["x"]))) == 2
