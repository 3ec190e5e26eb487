"""Answers about models, as JSON: status and metadata."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import json_format

from serving.methods.metadata import Metadata
from serving.models.spec import VersionStatus


def status(versions: Sequence[VersionStatus]) -> bytes:
    """The answer to a status request."""
    entries = [
        {
            "version": str(version.version),
            "state": version.state,
            "status": {"error_code": version.code.name, "error_message": version.message},
        }
        for version in versions
    ]
    return _dumps({"model_version_status": entries})


def metadata(found: Metadata) -> bytes:
    """The answer to a metadata request; empty fields are there as well."""
    signatures = {
        name: json_format.MessageToDict(
            signature,
            always_print_fields_with_no_presence=True,
            preserving_proto_field_name=True,
        )
        for name, signature in sorted(found.signature_defs.items())
    }
    spec = {"name": found.name, "signature_name": "", "version": str(found.version)}
    return _dumps(
        {"model_spec": spec, "metadata": {"signature_def": {"signature_def": signatures}}}
    )


def _dumps(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "replace")
