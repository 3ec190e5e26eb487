"""The command that writes the files, and what it says to do with them."""

from collections.abc import Iterator

from bert_tf import files
from serving.deployment import exported, plan
from serving.deployment import files as deployment_files
from serving.deployment.options import Deploy


def main(options: Deploy) -> None:
    """Examines the models, and writes the files of their deployment.

    Raises:
      InputError: a model cannot be deployed so; the message says why.
    """
    files.require_writable_directory(options.output_dir, "--output_dir")
    models = [exported.read(path, options.labels) for path in options.model_base_path]
    made = plan.make(options, models)
    written = deployment_files.write(made, options)
    print("\n".join(_report(options, made, len(written))))


def _report(options: Deploy, made: plan.Plan, num_files: int) -> Iterator[str]:
    folder = options.output_dir
    yield f"{num_files} files in {folder}, for {made.image}:"
    for model in made.models:
        labels = ", ".join(f"{label}: {number}" for label, number in model.labels.items())
        images = model.images
        can = f"images {images[0]} to {images[-1]} can run it" if images else "in its own image"
        off = f"; not batched: {model.not_batched}" if model.not_batched else ""
        yield f"  {model.name} ({labels}); {can}{off}"
    yield f"  {made.cpus} CPUs and {made.memory_mib} MiB of memory for each server"
    yield f"Docker:     docker compose --file {folder}/docker-compose.yml up --detach"
    yield f"Kubernetes: kubectl apply --kustomize {folder}"
