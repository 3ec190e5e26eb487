"""Imports point one way, each package uses only the libraries it may, and importing does nothing.

base (errors files shapes features config flagging ...) <- text <- examples <- records
base <- corpus <- records;  text, corpus <- vocabulary
base <- modeling <- checkpoints;  records, checkpoints <- tasks <- training <- scripts
training <- extraction;  training <- library, whose names bert_tf itself offers, loaded on first use
bert_tf <- export <- serving
serving: status <- models, monitoring <- execution <- methods <- rest_api, grpc_api <- server
status <- client <- loadtest, parity
"""

import ast
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PACKAGES = ("bert_tf", "export", "serving")

BASE = {"errors", "files", "shapes", "features", "config", "flagging", "identity", "options"}
BASE |= {"progress", "live_lines", "commands", "flag_help", "formatting", "invocation", "quiet"}
BASE |= {"flag_parsing"}
BASE |= {"frozen_layers", "hub_handles"}
BASE = {f"bert_tf.{name}" for name in BASE}
TEXT = BASE | {"bert_tf.text"}
CORPUS = BASE | {"bert_tf.corpus"}
VOCABULARY = TEXT | CORPUS | {"bert_tf.vocabulary"}
EXAMPLES = TEXT | {"bert_tf.examples"}
RECORDS = EXAMPLES | CORPUS | {"bert_tf.records"}
MODELING = {"bert_tf.config", "bert_tf.shapes", "bert_tf.features", "bert_tf.frozen_layers"}
MODELING |= {"bert_tf.modeling"}
CHECKPOINTS = TEXT | MODELING | {"bert_tf.checkpoints"}
TASKS = RECORDS | CHECKPOINTS | {"bert_tf.tasks"}
TRAINING = TASKS | {"bert_tf.training"}
EXTRACTION = TRAINING | {"bert_tf.extraction"}
LIBRARY = TRAINING | {"bert_tf.library"}
SERVED = {"bert_tf", "serving.options", "serving.status", "serving.models", "serving.monitoring"}
SERVED |= {"serving.text_protos"}
EXECUTION = SERVED | {"serving.execution"}
METHODS = EXECUTION | {"serving.methods"}
# Of the server's models, only how a request names one.
CLIENT = {"bert_tf", "serving.status", "serving.models", "serving.client"}

# By package, the longest prefix of a module's name deciding: what it may see of our own, and of
# other people's.
OURS = {
    "bert_tf": BASE | {"bert_tf"},
    "bert_tf.text": TEXT,
    "bert_tf.corpus": CORPUS,
    "bert_tf.vocabulary": VOCABULARY,
    "bert_tf.examples": EXAMPLES,
    "bert_tf.records": RECORDS,
    "bert_tf.records.manifest": RECORDS | {"bert_tf"},
    "bert_tf.options": BASE | {"bert_tf.examples"},
    "bert_tf.modeling": MODELING,
    "bert_tf.checkpoints": CHECKPOINTS,
    "bert_tf.tasks": TASKS,
    "bert_tf.training": TRAINING,
    "bert_tf.training.devices.environment": TRAINING | {"bert_tf"},
    "bert_tf.extraction": EXTRACTION,
    "bert_tf.library": LIBRARY,
    "export": {"bert_tf", "export"},
    "serving": {"bert_tf", "export", "serving"},
    "serving.models": SERVED,
    "serving.monitoring": {"bert_tf", "serving.options", "serving.status", "serving.monitoring"}
    | {"serving.text_protos"},
    "serving.execution": EXECUTION,
    "serving.methods": METHODS,
    "serving.rest_api": METHODS | {"serving.rest_api"},
    "serving.grpc_api": METHODS | {"serving.grpc_api", "serving.text_protos"},
    "serving.client": CLIENT,
    "serving.loadtest": CLIENT | {"serving.loadtest"},
    "serving.parity": CLIENT | {"serving.parity"},
    "serving.page": {"serving.page"},
    "serving.deployment": {"bert_tf", "export", "serving.deployment"},
    "script": {"bert_tf", "export"},
}
# What `bert_tf/__init__.py` alone may see: the names that it offers.
FRONT = {"bert_tf.config", "bert_tf.library", "bert_tf.quiet"}
THEIRS = {
    "bert_tf": set(),
    "bert_tf.flagging": {"absl"},
    "bert_tf.live_lines": {"tqdm"},
    "bert_tf.text": {"numpy"},
    "bert_tf.text.graph": {"tensorflow", "tensorflow_text"},
    "bert_tf.text.graph_offsets": {"numpy", "tensorflow"},
    "bert_tf.text.graph_packing": {"tensorflow"},
    "bert_tf.text.graph_reading": {"tensorflow"},
    "bert_tf.text.graph_spans": {"numpy", "tensorflow"},
    "bert_tf.text.graph_splitting": {"tensorflow"},
    "bert_tf.text.graph_tables": {"numpy", "tensorflow"},
    "bert_tf.text.graph_text_windows": {"tensorflow"},
    "bert_tf.text.graph_windows": {"tensorflow"},
    "bert_tf.text.graph_word_rows": {"tensorflow"},
    "bert_tf.text.graph_words": {"tensorflow"},
    "bert_tf.vocabulary": {"numpy"},
    "bert_tf.corpus": {"numpy"},
    "bert_tf.corpus.inputs": {"backports"},
    "bert_tf.corpus.sentences": {"sentencex"},
    "bert_tf.corpus.wikitext": {"mwparserfromhell"},
    "bert_tf.corpus.wikitext_templates": {"mwparserfromhell"},
    "bert_tf.examples": {"numpy"},
    "bert_tf.examples.readers.arrow_files": {"pyarrow"},
    "bert_tf.records": {"numpy", "tensorflow"},
    "bert_tf.records.beam.files": {"apache_beam"},
    "bert_tf.records.beam.pipeline": {"apache_beam", "numpy"},
    "bert_tf.records.check": {"google", "tensorflow"},
    "bert_tf.records.build.write": {"google_crc32c", "numpy"},
    "bert_tf.checkpoints.formats.model_garden_graph": {"google", "tensorflow"},
    "bert_tf.modeling": {"keras", "numpy"},
    "bert_tf.checkpoints": {"keras", "numpy", "safetensors", "tensorflow"},
    "bert_tf.checkpoints.formats.keras_hub": {"h5py", "numpy"},
    "bert_tf.checkpoints.formats.safetensors_files": {"ml_dtypes", "numpy", "safetensors"},
    "bert_tf.checkpoints.formats.saved_model": {"google", "tensorflow"},
    "bert_tf.checkpoints.hub": set(),
    "bert_tf.checkpoints.hub.cache": {"google_crc32c"},
    "bert_tf.checkpoints.hub.download": {"httpx2", "huggingface_hub"},
    "bert_tf.checkpoints.hub.hugging_face": {"huggingface_hub"},
    "bert_tf.checkpoints.hub.presets": {"huggingface_hub"},
    "bert_tf.tasks": {"keras", "numpy", "scipy"},
    # What an exported model answers is made of TensorFlow's strings, inside methods.
    "bert_tf.tasks.kinds.classification": {"keras", "numpy", "tensorflow"},
    "bert_tf.tasks.kinds.multi_label": {"keras", "numpy", "tensorflow"},
    "bert_tf.tasks.kinds.text_task": {"numpy", "tensorflow"},
    "bert_tf.training": {"keras", "numpy", "tensorflow"},
    "bert_tf.training.distillation.teacher": {"numpy", "tensorflow", "tensorflow_text"},
    "bert_tf.training.report.rendering": {"jinja2"},
    "bert_tf.extraction": {"keras", "numpy", "tensorflow"},
    "bert_tf.extraction.formats": {"numpy"},
    "bert_tf.extraction.formats.json_lines": {"numpy", "orjson"},
    "bert_tf.extraction.formats.parquet": {"numpy", "pyarrow"},
    "bert_tf.library": {"keras", "numpy", "tensorflow"},
    "bert_tf.library.exported": {"numpy", "tensorflow", "tensorflow_text"},
    "bert_tf.library.hub_layer": {"keras", "tensorflow", "tensorflow_text"},
    "export": {"absl", "keras", "numpy", "tensorflow", "tensorflow_serving", "tensorflow_text"},
    "export.images.saved_model": {"google", "tensorflow"},
    "export.served.onnx_file": {"numpy", "onnx"},
    "export.served.runtime_check": {"ai_edge_litert", "numpy", "onnxruntime"},
    "export.served.weights": {"keras", "ml_dtypes", "numpy", "tensorflow"},
    "serving": {"google", "numpy", "orjson", "requests", "tensorflow", "tensorflow_serving"}
    | {"tensorflow_text", "uvicorn"},
    "serving.server": {"uvloop"},
    "serving.grpc_api": {"google", "grpc", "numpy", "tensorflow", "tensorflow_serving"},
    "serving.grpc_api.health": {"grpc", "grpc_health"},
    "serving.client": {"numpy"},
    "serving.client.grpc_clients": {"grpc"},
    "serving.client.grpc_requests": {"numpy", "orjson"},
    "serving.client.messages": {"google"},
    "serving.client.rest": {"httpx2", "requests"},
    "serving.client.rest_requests": {"numpy", "orjson"},
    "serving.loadtest": {"numpy"},
    "serving.loadtest.connections": {"grpc", "httptools"},
    "serving.loadtest.worker": {"uvloop"},
    "serving.parity": {"numpy"},
    "serving.parity.records": {"google", "google_crc32c", "numpy"},
    "serving.page": set(),
    "serving.deployment": set(),
    "serving.deployment.files": {"jinja2"},
    "script": set(),
}


def modules():
    """Dict from module name to path; a script's name is `script.NAME`."""
    found = {f"script.{path.stem}": path for path in ROOT.glob("*.py")}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imported(tree, module):
    """Full names of the modules that a tree imports, wherever in it they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import in line {node.lineno}."
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else node.module


def longest_prefix(name, table):
    """The entry of `table` for the package nearest to the module `name`, or None."""
    parts = name.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in table), None)


def violations(module, text):
    """What a module imports and may not."""
    ours = FRONT if module == "bert_tf" else OURS[longest_prefix(module, OURS)]
    theirs = THEIRS[longest_prefix(module, THEIRS)]
    for name in imported(ast.parse(text), module):
        top = name.split(".")[0]
        if top in PACKAGES:
            # Of bert_tf itself, only a module that is named counts: bert_tf.x.y belongs to x.
            package = top if top == "export" else ".".join(name.split(".")[:2])
            allowed = package in ours or (top in ours and not module.startswith("bert_tf"))
        else:
            allowed = top in theirs or top in sys.stdlib_module_names
        if not allowed:
            yield name


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_it_may(module):
    assert list(violations(module, MODULES[module].read_text())) == []


@pytest.mark.parametrize(
    ("module", "line", "wrong"),
    [
        ("bert_tf.modeling.layer", "import tensorflow as tf", "tensorflow"),
        ("bert_tf.modeling.layer", "from bert_tf import files", "bert_tf.files"),
        ("bert_tf.modeling.layer", "from bert_tf.text import vocab", "bert_tf.text.vocab"),
        ("bert_tf.examples.spans", "import bert_tf.records.build", "bert_tf.records.build"),
        ("bert_tf.examples.spans", "import keras", "keras"),
        ("bert_tf.text.vocab", "from tensorflow import io", "tensorflow"),
        ("bert_tf", "import keras", "keras"),
        ("bert_tf", "from bert_tf import training", "bert_tf.training"),
        ("bert_tf.errors", "from bert_tf import library", "bert_tf.library"),
        ("bert_tf.training.setup", "from bert_tf import library", "bert_tf.library"),
        ("bert_tf.config", "from bert_tf.text import vocab", "bert_tf.text.vocab"),
        ("bert_tf.records.build.write", "from bert_tf import checkpoints", "bert_tf.checkpoints"),
        ("bert_tf.checkpoints.hub.presets", "import requests", "requests"),
        ("bert_tf.records.build.builder", "import apache_beam", "apache_beam"),
        ("bert_tf.tasks.squad", "import bert_tf.training.step", "bert_tf.training.step"),
        ("bert_tf.tasks.squad", "import tensorflow", "tensorflow"),
        ("bert_tf.training.step.loop", "from export.version import write", "export.version.write"),
        ("bert_tf.training.step.loop", "from tests import reference", "tests"),
        ("bert_tf.training.step.loop", "import run_squad", "run_squad"),
        ("export.version.write", "from serving import rest_api", "serving.rest_api"),
        ("script.run_squad", "def main():\n  from serving import rest_api", "serving.rest_api"),
        ("script.run_squad", "import numpy", "numpy"),
        ("serving.models.servable", "from serving.methods import core", "serving.methods.core"),
    ],
)
def test_a_wrong_import_is_found(module, line, wrong):
    assert list(violations(module, line)) == [wrong]


def test_the_tables_name_only_modules_that_are_there():
    known = set(MODULES) | {"script"}
    named = set(OURS) | set(THEIRS) | set().union(*OURS.values())
    assert named - known == set()


DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
DEFINING += (ast.Assign, ast.AnnAssign, ast.AugAssign)


GUARDS = ("__name__ == '__main__'", "TYPE_CHECKING")  # not true when a module is imported
INSTALLS = "quiet.install()"  # what importing bert_tf does: TensorFlow will load quietly


def side_effects(tree):
    """Top-level statements that do more than define names; what `GUARDS` hold does not count."""
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) in GUARDS:
            continue
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (is_docstring or isinstance(node, DEFINING)) or registers(node):
            yield ast.unparse(node)


# The one registry that importing a module may write to: Keras' of the classes in its files.
SERIALIZABLE = re.compile(
    r"keras\.saving\.register_keras_serializable\(package='bert_tf(\.modeling)?'\)"
)


def registers(node):
    """Whether defining the name puts a flag or a class into somebody's registry."""
    run = [node.value] if hasattr(node, "value") else getattr(node, "decorator_list", [])
    text = " ".join(SERIALIZABLE.sub("", ast.unparse(part)) for part in run if part)
    return "DEFINE_" in text and "(" in text or "register" in text


@pytest.mark.parametrize("module", MODULES)
def test_importing_a_module_does_nothing(module):
    allowed = [INSTALLS] if module == "bert_tf" else []
    assert list(side_effects(ast.parse(MODULES[module].read_text()))) == allowed


@pytest.mark.parametrize(
    "text",
    [
        "print('loaded')",
        "flags.DEFINE_string('vocab_file', None, 'help')",
        "FLAG = flags.DEFINE_string('vocab_file', None, 'help')",
        "for name in (): pass",
        "@keras.saving.register_keras_serializable()\nclass Layer: pass",
        "@keras.saving.register_keras_serializable(package='other')\nclass Layer: pass",
        "@registry.register(Layer)\nclass Layer: pass",
        "if True:\n  import numpy",
    ],
)
def test_a_side_effect_is_found(text):
    assert list(side_effects(ast.parse(text)))


def changes_search_path(tree):
    return any(
        isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path"
        for node in ast.walk(tree)
    )


def test_nobody_changes_the_search_path():
    paths = [*MODULES.values(), *(ROOT / "tests").rglob("*.py")]
    assert [str(path) for path in paths if changes_search_path(ast.parse(path.read_text()))] == []
    assert changes_search_path(ast.parse("sys.path.insert(0, '.')"))
