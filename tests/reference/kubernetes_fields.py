"""Fields of Kubernetes' objects as far as the manifests have them; no other may be there.

They are those of Kubernetes 1.30, against which the manifests were checked as well. A dict is an
object, a list holds what all of its elements are, a set holds the values that a text may have.
"""

TEXTS = dict[str, str]
_META = {"name": str, "labels": TEXTS, "annotations": TEXTS}
_SELECTOR = {"matchLabels": TEXTS}
_PORT = (int, str)
_QUANTITIES = TEXTS
_PROBE = {
    "httpGet": {"path": str, "port": _PORT},
    "tcpSocket": {"port": _PORT},
    **dict.fromkeys(("periodSeconds", "timeoutSeconds", "failureThreshold"), int),
}
_CONTAINER = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str}],
    "ports": [{"name": str, "containerPort": int}],
    "resources": {"requests": _QUANTITIES, "limits": _QUANTITIES},
    "startupProbe": _PROBE,
    "readinessProbe": _PROBE,
    "livenessProbe": _PROBE,
    "lifecycle": {"preStop": {"exec": {"command": [str]}}},
    "securityContext": {
        "allowPrivilegeEscalation": bool,
        "readOnlyRootFilesystem": bool,
        "capabilities": {"drop": [str]},
    },
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
_POD = {
    "automountServiceAccountToken": bool,
    "shareProcessNamespace": bool,
    "terminationGracePeriodSeconds": int,
    "restartPolicy": {"Always", "OnFailure", "Never"},
    "securityContext": {
        "runAsNonRoot": bool,
        **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), int),
        "seccompProfile": {"type": {"RuntimeDefault", "Unconfined", "Localhost"}},
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": int,
            "topologyKey": str,
            "whenUnsatisfiable": {"DoNotSchedule", "ScheduleAnyway"},
            "labelSelector": _SELECTOR,
        }
    ],
    "containers": [_CONTAINER],
    "volumes": [
        {
            "name": str,
            "persistentVolumeClaim": {"claimName": str},
            "configMap": {"name": str},
            "emptyDir": {},
        }
    ],
}
_RULE = {"alert": str, "expr": str, "for": str, "labels": TEXTS, "annotations": TEXTS}
GROUPS = [{"name": str, "rules": [_RULE]}]  # of Prometheus' rule files, too

SPECS = {
    ("apps/v1", "Deployment"): {
        "replicas": int,
        "strategy": {
            "type": {"RollingUpdate", "Recreate"},
            "rollingUpdate": {"maxSurge": _PORT, "maxUnavailable": _PORT},
        },
        "selector": _SELECTOR,
        "template": {"metadata": _META, "spec": _POD},
    },
    ("v1", "Pod"): _POD,
    ("v1", "Service"): {
        "selector": TEXTS,
        "ports": [{"name": str, "port": int, "targetPort": _PORT}],
    },
    ("v1", "PersistentVolumeClaim"): {
        "accessModes": [{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"}],
        "resources": {"requests": _QUANTITIES},
    },
    ("policy/v1", "PodDisruptionBudget"): {"maxUnavailable": _PORT, "selector": _SELECTOR},
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {
        "scaleTargetRef": {"apiVersion": str, "kind": str, "name": str},
        "minReplicas": int,
        "maxReplicas": int,
        "metrics": [
            {
                "type": {"Resource", "Pods", "Object", "External", "ContainerResource"},
                "resource": {
                    "name": str,
                    "target": {
                        "type": {"Utilization", "AverageValue", "Value"},
                        "averageUtilization": int,
                    },
                },
            }
        ],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": int}},
    },
    # Of the Prometheus operator.
    ("monitoring.coreos.com/v1", "PodMonitor"): {
        "selector": _SELECTOR,
        "podMetricsEndpoints": [
            {
                **dict.fromkeys(("port", "path", "interval"), str),
                "relabelings": [{"targetLabel": str, "replacement": str}],
            }
        ],
    },
    ("monitoring.coreos.com/v1", "PrometheusRule"): {"groups": GROUPS},
}


def problems(value, wanted, path=""):
    """What of a value is not as wanted, each with its path."""
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return [f"{path}: an object was wanted"]
        unknown = [f"{path}.{name}: no such field" for name in value.keys() - wanted.keys()]
        known = [name for name in wanted if name in value]
        return unknown + [
            each for name in known for each in problems(value[name], wanted[name], f"{path}.{name}")
        ]
    if isinstance(wanted, list):
        if not isinstance(value, list) or not value:
            return [f"{path}: a list was wanted"]
        return [
            each
            for number, element in enumerate(value)
            for each in problems(element, wanted[0], f"{path}[{number}]")
        ]
    return [] if _is(value, wanted) else [f"{path}: {value!r} is not {wanted}"]


def _is(value, wanted):
    if isinstance(wanted, set):
        return value in wanted
    if wanted == TEXTS:
        parts = [*value, *value.values()] if isinstance(value, dict) else [None]
        return all(isinstance(part, str) for part in parts)
    kinds = wanted if isinstance(wanted, tuple) else (wanted,)
    return type(value) in kinds  # a truth is no integer


def object_problems(manifest):
    """What of a manifest is not as Kubernetes wants it."""
    kind = (manifest.get("apiVersion"), manifest.get("kind"))
    if kind not in SPECS:
        return [f"{kind}: no such kind"]
    whole = {"apiVersion": str, "kind": str, "metadata": _META, "spec": SPECS[kind]}
    return problems(manifest, whole)
