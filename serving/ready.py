"""What a server says when it answers: its addresses, and what to type next."""

import contextlib
import shlex
from collections.abc import Collection, Iterator

from bert_tf import invocation
from serving import ports
from serving.models.manager import ModelManager
from serving.models.spec import ModelSpec
from serving.options import Server
from serving.status import ServingError

# Arguments of the client, by the names of the inputs.
_EXAMPLES = {
    ("text",): '"a text"',
    ("text_a", "text_b"): '--text_a="a text" --text_b="another"',
    ("context", "question"): '--question="Who?" --context="It was Ann."',
    ("choices", "context"): '--context="He sat" --choice="down." --choice="up."',
}


def lines(options: Server, manager: ModelManager) -> Iterator[str]:
    """What to ask, and how."""
    available = manager.available()
    names = [name for name in manager.configs() if available[name]]
    rest = ports.authority(options.host, options.rest_api_port)
    apis = []
    if options.rest_api_port:
        url = f"http://{rest}/v1/models/{names[0] if len(names) == 1 else 'NAME'}"
        apis.append(f"POST {url}:predict; GET {url} and {url}/metadata")
    if options.port:
        apis.append(f"gRPC on {ports.authority(options.host, options.port)}")
    if options.grpc_socket_path:
        apis.append(f"gRPC on unix:{options.grpc_socket_path}")
    yield f"Ready: {'; '.join(apis)}. Ctrl-C or SIGTERM stops."
    if len(names) > 1:
        yield f"Models: {', '.join(names)}."
    if options.rest_api_port and options.enable_page and names:
        yield f"Try it: http://{rest}/"
    if options.rest_api_port and names:
        yield from _question(manager, names[0], rest)


def _question(manager: ModelManager, name: str, authority: str) -> Iterator[str]:
    """A command that asks a model, if its inputs are known."""
    inputs: Collection[str] = ()
    with contextlib.suppress(ServingError), manager.lease(ModelSpec(name)) as servable:
        inputs = servable.signature("").inputs
    arguments = _EXAMPLES.get(tuple(sorted(inputs)))
    if arguments:
        client = invocation.of("client", "-m serving.client")
        yield f"Ask it: {client} --url={authority} --model_name={shlex.quote(name)} {arguments}"
