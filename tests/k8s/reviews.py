"""Reviews as API servers of several versions send them, in their shapes."""

from typing import Any

Json = dict[str, Any]


def _request(version: str, uid: str, pod: Json, **more: Any) -> Json:
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    return {
        "kind": "AdmissionReview",
        "apiVersion": f"admission.k8s.io/{version}",
        "request": {
            "uid": uid,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "namespace": "apps",
            "operation": "CREATE",
            "userInfo": {
                "username": "system:serviceaccount:kube-system:replicaset-controller",
                "groups": ["system:serviceaccounts", "system:authenticated"],
            },
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            **more,
        },
    }


def _container(name: str, image: str, account: str) -> Json:
    return {
        "name": name,
        "image": image,
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "resources": {},
        "volumeMounts": [
            {
                "name": account,
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            }
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _spec(account: Json, **more: Any) -> Json:
    return {
        "volumes": [account],
        "containers": [_container("app", "registry.example/app:3", account["name"])],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        **more,
    }


def _projected(name: str) -> Json:
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {
            "configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }
        },
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 420}}


def _owner(kind: str, version: str, name: str) -> Json:
    return {
        "apiVersion": version,
        "kind": kind,
        "name": name,
        "uid": "0b6f7d0c-0000-4000-8000-00000000000a",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def of_1_20(version: str = "v1beta1") -> Json:
    """A ReplicaSet's pod: it has no name yet, and its namespace in the request only."""
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "app-5d4c8b7f9-",
            "creationTimestamp": None,
            "labels": {"app": "app", "pod-template-hash": "5d4c8b7f9"},
            "ownerReferences": [_owner("ReplicaSet", "apps/v1", "app-5d4c8b7f9")],
            "managedFields": [{"manager": "kube-controller-manager", "operation": "Update"}],
        },
        "spec": _spec({"name": "default-token-x7k2p", "secret": {"secretName": "x"}}),
        "status": {},
    }
    return _request(version, "20000000-0000-4000-8000-000000000020", pod, name=None)


def of_1_31() -> Json:
    """`kubectl create --dry-run=server` of a pod that is named, with an init container."""
    account = "kube-api-access-h2v9s"
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": "worker",
            "namespace": "apps",
            "creationTimestamp": None,
            "labels": {"reprise.dev/inject": "true"},
            "annotations": {"reprise.dev/upstream": "http://llm.apps.svc:8000"},
        },
        "spec": _spec(
            _projected(account),
            initContainers=[_container("migrate", "registry.example/app:3", account)],
        ),
        "status": {},
    }
    uid = "31000000-0000-4000-8000-000000000031"
    return _request("v1", uid, pod, name="worker", dryRun=True)


def of_1_36() -> Json:
    """A Job's pod, with the members of later versions."""
    account = "kube-api-access-9zq4m"
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "nightly-29301200-",
            "labels": {
                "batch.kubernetes.io/controller-uid": "7a",
                "batch.kubernetes.io/job-name": "nightly-29301200",
            },
            "finalizers": ["batch.kubernetes.io/job-tracking"],
            "ownerReferences": [_owner("Job", "batch/v1", "nightly-29301200")],
        },
        "spec": _spec(
            _projected(account),
            restartPolicy="Never",
            os={"name": "linux"},
            hostUsers=False,
            resources={"requests": {"cpu": "1"}},
        ),
        "status": {},
    }
    return _request("v1", "36000000-0000-4000-8000-000000000036", pod)
