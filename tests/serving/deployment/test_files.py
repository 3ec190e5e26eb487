"""The files, read by what reads them: YAML, text protos, Kubernetes, Prometheus."""

import dataclasses
import json
import re

import pytest
import yaml
from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from serving.deployment import exported, files, plan
from serving.deployment.options import Deploy
from serving.execution import parameters
from serving.monitoring import config as monitoring
from serving.options import Server
from tests.reference import kubernetes_fields, promql

METADATA = "/v1/models/topics/metadata"
# Flags of tensorflow_model_server that a deployment may give, of its main.cc.
FLAGS = {
    *("port", "rest_api_port", "rest_api_timeout_in_ms", "grpc_channel_arguments"),
    *("model_config_file", "model_config_file_poll_wait_seconds", "file_system_poll_wait_seconds"),
    *("allow_version_labels_for_unavailable_models", "monitoring_config_file"),
    *("tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism", "num_load_threads"),
    *("enable_batching", "batching_parameters_file", "enable_per_model_batching_parameters"),
}


def made(topics, **values):
    """The texts of a deployment of versions 1 and 2 of `topics`."""
    values = {"stable_version": 1, "canary_version": 2} | values
    options = Deploy(model_base_path=(str(topics),), output_dir=str(topics.parent), **values)
    return files.texts(plan.make(options, [exported.read(str(topics), options.labels)]), options)


@pytest.fixture(scope="module")
def texts(topics):
    return made(topics)


@pytest.fixture(scope="module")
def of_gpus(topics):
    return made(topics, gpu=True)


def manifests(texts):
    """Documents of all manifests by kind, those of the Prometheus operator too."""
    documents = [
        document
        for name, text in texts.items()
        if name.startswith("kubernetes/")
        for document in yaml.safe_load_all(text)
    ]
    return {document["kind"]: document for document in documents}


def server(texts):
    """Pod and container of the server."""
    pod = manifests(texts)["Deployment"]["spec"]["template"]["spec"]
    return pod, pod["containers"][0]


def test_models_config_is_what_the_server_reads(texts):
    config = text_format.Parse(
        texts["config/models.config"], model_server_config_pb2.ModelServerConfig()
    )
    (model,) = config.model_config_list.config
    assert (model.name, model.base_path) == ("topics", "/models/topics")
    assert model.model_platform == "tensorflow"
    assert list(model.model_version_policy.specific.versions) == [1, 2]
    assert dict(model.version_labels) == {"stable": 1, "canary": 2}


def test_batching_config_is_what_the_server_reads(texts, tmp_path):
    file = tmp_path / "batching.config"
    file.write_text(texts["config/batching.config"])
    found = parameters.from_file(str(file), "")
    assert (found.max_batch_size, found.batch_timeout_micros) == (64, 2000)
    assert found.num_batch_threads == 4  # that of the deployment, not of the export


def test_monitoring_config_and_prometheus_agree(texts, tmp_path):
    file = tmp_path / "monitoring.config"
    file.write_text(texts["config/monitoring.config"])
    (job,) = yaml.safe_load(texts["prometheus.yml"])["scrape_configs"]
    monitor = manifests(texts)["PodMonitor"]["spec"]["podMetricsEndpoints"][0]
    annotations = manifests(texts)["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    paths = {job["metrics_path"], monitor["path"], annotations["prometheus.io/path"]}
    assert paths == {monitoring.prometheus_path(str(file))}
    assert job["job_name"] == monitor["relabelings"][0]["replacement"] == "tensorflow-serving"


@pytest.mark.parametrize("name", ["texts", "of_gpus"])
def test_manifests_have_only_fields_that_kubernetes_knows(name, request):
    for manifest in manifests(request.getfixturevalue(name)).values():
        assert kubernetes_fields.object_problems(manifest) == []


def test_a_wrong_field_would_be_found(texts):
    deployment = manifests(texts)["Deployment"]
    deployment["spec"]["template"]["spec"]["containers"][0]["readinessProb"] = {}
    deployment["spec"]["replicas"] = "2"
    assert kubernetes_fields.object_problems(deployment) == [
        ".spec.replicas: '2' is not <class 'int'>",
        ".spec.template.spec.containers[0].readinessProb: no such field",
    ]


def test_the_server_has_known_flags_and_its_files(texts):
    pod, container = server(texts)
    compose = yaml.safe_load(texts["docker-compose.yml"])["services"]["serving"]
    assert container["args"] == compose["command"]
    assert compose["entrypoint"] == container["command"] == ["/usr/bin/tensorflow_model_server"]
    flags = dict(flag.removeprefix("--").split("=", 1) for flag in container["args"])
    assert flags.keys() <= FLAGS
    assert flags.keys() <= {field.name for field in dataclasses.fields(Server)}  # ours has them too
    generated = yaml.safe_load(texts["kustomization.yaml"])["configMapGenerator"][0]
    names = {name.removeprefix("config/") for name in generated["files"]}
    assert {f"config/{name}" for name in names} <= set(texts)
    read = {value for name, value in flags.items() if name.endswith("_file")}
    assert read == {f"/config/{name}" for name in names}
    (config,) = [each["configMap"] for each in pod["volumes"] if "configMap" in each]
    assert config["name"] == generated["name"]


def test_probes_ask_for_metadata_and_a_busy_server_lives(texts):
    _, container = server(texts)
    for probe in ("startupProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": METADATA, "port": "http"}
    assert "httpGet" not in container["livenessProbe"]
    startup = container["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 300
    check = yaml.safe_load(texts["docker-compose.yml"])["services"]["serving"]["healthcheck"]
    assert METADATA in check["test"][-1] and "\n" not in check["test"][-1]


def test_a_server_stops_after_its_last_request(texts):
    pod, container = server(texts)
    drain = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    timeout = next(flag for flag in container["args"] if "rest_api_timeout" in flag)
    assert int(timeout.partition("=")[2]) / 1000 < drain < pod["terminationGracePeriodSeconds"]
    assert pod["shareProcessNamespace"]  # else it ignores SIGTERM
    assert yaml.safe_load(texts["docker-compose.yml"])["services"]["serving"]["init"]


def test_objects_name_each_other(texts):
    found = manifests(texts)
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Service"]["spec"]["selector"] == labels
    for kind in ("Deployment", "PodDisruptionBudget", "PodMonitor"):
        assert found[kind]["spec"]["selector"]["matchLabels"] == labels
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target["name"] == found["Deployment"]["metadata"]["name"]
    claims = [
        volume["persistentVolumeClaim"]["claimName"]
        for kind in (found["Deployment"]["spec"]["template"], found["Pod"])
        for volume in kind["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    ]
    assert claims == 2 * [found["PersistentVolumeClaim"]["metadata"]["name"]]
    ports = {port["name"]: port["containerPort"] for port in server(texts)[1]["ports"]}
    assert ports == {"grpc": 8500, "http": 8501}
    assert {port["targetPort"] for port in found["Service"]["spec"]["ports"]} == set(ports)
    for pod in (found["Deployment"]["spec"]["template"]["spec"], found["Pod"]["spec"]):
        volumes = {volume["name"] for volume in pod["volumes"]}
        assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == volumes


def test_kustomize_lists_what_every_cluster_can_take(texts, of_gpus):
    for each in (texts, of_gpus):
        listed = yaml.safe_load(each["kustomization.yaml"])["resources"]
        extra = {"kubernetes/upload.yaml", "kubernetes/monitoring.yaml"}
        assert set(listed) == {name for name in each if name.startswith("kubernetes/")} - extra


def test_gpus_are_asked_for(texts, of_gpus):
    _, container = server(of_gpus)
    assert container["image"].endswith("-gpu")
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert {"name": "TF_FORCE_GPU_ALLOW_GROWTH", "value": "true"} in container["env"]
    compose = yaml.safe_load(of_gpus["docker-compose.yml"])["services"]["serving"]
    (device,) = compose["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    assert manifests(of_gpus)["Deployment"]["spec"]["replicas"] == 2  # nothing else sets them
    assert "replicas" not in manifests(texts)["Deployment"]["spec"]


def test_rules_are_the_same_everywhere_and_prometheus_reads_them(texts):
    rules = yaml.safe_load(texts["alerts.yml"])["groups"]
    assert kubernetes_fields.problems(rules, kubernetes_fields.GROUPS) == []
    assert rules == manifests(texts)["PrometheusRule"]["spec"]["groups"]
    for rule in rules[0]["rules"]:
        assert re.fullmatch(r"\d+m", rule["for"])
        promql.check(rule["expr"])


def test_compose_mounts_files_that_are_there(texts):
    services = yaml.safe_load(texts["docker-compose.yml"])["services"]
    for service in ("prometheus", "grafana"):
        for volume in services[service]["volumes"]:
            assert volume.split(":")[0].removeprefix("./") in texts
    published = [port for each in services.values() for port in each["ports"]]
    assert all(port.startswith("127.0.0.1:") for port in published)
    board = next(path for path in services["grafana"]["volumes"] if "dashboard.json" in path)
    provider = yaml.safe_load(texts["grafana/dashboards.yml"])["providers"][0]
    assert provider["options"]["path"] in board
    assert json.loads(texts["grafana/dashboard.json"])["panels"]


def test_a_path_with_any_characters_is_mounted(tmp_path, write_version):
    base = tmp_path / 'a: "b" $HOME #' / "topics"
    write_version(base / "1")
    options = Deploy(model_base_path=(str(base),), output_dir=str(tmp_path / "deploy"))
    model = exported.read(str(base), options.labels)
    texts = files.texts(plan.make(options, [model]), options)
    mounted = yaml.safe_load(texts["docker-compose.yml"])["services"]["serving"]["volumes"][0]
    assert mounted["source"] == '../a: "b" $$HOME #/topics'
    assert mounted["target"] == "/models/topics"


def test_files_that_were_there_are_replaced(tmp_path, topics):
    options = Deploy(model_base_path=(str(topics),), output_dir=str(tmp_path / "new"))
    decided = plan.make(options, [exported.read(str(topics), options.labels)])
    names = files.write(decided, options)
    (tmp_path / "new" / "alerts.yml").write_text("old")
    assert files.write(decided, options) == names
    expected = files.texts(decided, options)
    assert {name: (tmp_path / "new" / name).read_text() for name in names} == expected
