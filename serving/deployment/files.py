"""Writes the files of a deployment: templates filled in, and the dashboard."""

import json
import os
from typing import Any

from bert_tf import files
from serving.deployment import alerts, dashboard
from serving.deployment.options import Deploy
from serving.deployment.plan import Plan

_TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
_DASHBOARD = "grafana/dashboard.json"
_SCALING = "kubernetes/autoscaler.yaml"


def texts(plan: Plan, options: Deploy) -> dict[str, str]:
    """The text of each file by its path, which is that of its template."""
    environment = _environment()
    environment.filters["quoted"] = _quoted
    environment.filters["for_compose"] = _for_compose
    values = {
        "plan": plan,
        "alerts": alerts.ALERTS,
        "sources": {
            model.name: os.path.relpath(model.path, options.output_dir) for model in plan.models
        },
    }
    names = [name for name in environment.list_templates() if not (plan.gpu and name == _SCALING)]
    found = {name: environment.get_template(name).render(values) for name in names}
    board = dashboard.document(f"TensorFlow Serving: {plan.name}")
    return found | {_DASHBOARD: json.dumps(board, indent=2, ensure_ascii=False) + "\n"}


def write(plan: Plan, options: Deploy) -> list[str]:
    """Writes all files; those that were there are replaced.

    Returns:
      Their paths in the directory.
    """
    written = texts(plan, options)
    for name, text in written.items():
        path = os.path.join(options.output_dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.write_text(path, text)
    return sorted(written)


def _quoted(text: str) -> str:
    """A text as a scalar of YAML and of protobuf's text format."""
    return json.dumps(text, ensure_ascii=False)


def _for_compose(text: str) -> str:
    """A text in which Compose sees no variables."""
    return text.replace("$", "$$")


def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=False,  # no HTML; names are checked, and other texts quoted
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
