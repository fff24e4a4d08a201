"""A value of a pod that an API server refuses beside others of the pod is refused, and one that it takes is taken."""

from typing import Any

import pytest

from crashloop.stress.pod_faults import invalid
from crashloop.stress.pod_rules import invalid_annotations
from crashloop.stress.pod_template import PodTemplate, faults_of, pods_in
from suites.selftest.kit.own_pods import RULE, faults, spec, template

HUGE = "hugepages-2Mi"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.mark.parametrize(
    ("container", "said"),
    [
        ({"resources": {"limits": {HUGE: "3Mi", "cpu": 1}}}, "is '3Mi'; a multiple of the size of a page is valid"),
        ({"livenessProbe": {"tcpSocket": {"port": "8080"}}}, "livenessProbe.tcpSocket.port is '8080'; valid are 1 to"),
        (
            {"ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]},
            "ports[1].hostPort is 80 twice",
        ),
    ],
    ids=["page", "port", "twice"],
)
def test_a_fault_of_a_container_has_its_path(container: dict[str, Any], said: str) -> None:
    (found,) = faults(container)
    assert found.startswith("spec.containers[0].")
    assert said in found


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        ({"hostname": "a.b"}, "spec.hostname is 'a.b'; 1 to 63 lower-case letters, digits and dashes are valid"),
        ({"os": {"name": "windows"}}, "spec.os.name is 'windows'; valid are linux"),
        ({"hostUsers": False, "hostNetwork": True}, "spec.hostNetwork is true; with hostUsers false it cannot be"),
        ({"tolerations": [{"key": "a", "tolerationSeconds": 1}]}, "spec.tolerations[0].tolerationSeconds is set; only"),
        ({"tolerations": [None]}, "spec.tolerations[0].key is missing"),
        ({"volumes": [{"name": "v"}, {"name": "v"}]}, "spec.volumes[1].name is 'v' twice"),
        ({"securityContext": {"sysctls": [{"name": "a b"}]}}, "sysctls[0].name is 'a b'; names of sysctls are valid"),
        (
            {"resources": {"limits": {"ephemeral-storage": "1Gi"}}},
            "spec.resources has ephemeral-storage; of a pod as a",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value)[:50],
)
def test_a_fault_of_a_pod_has_its_path(pod: dict[str, Any], said: str) -> None:
    (found,) = faults({}, **pod)
    assert said in found


def test_devices_are_for_pods_with_the_users_of_their_host() -> None:
    claim = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    (found,) = faults({"volumeDevices": [{"name": "v", "devicePath": "/d"}]}, hostUsers=False, **claim)
    assert found == "spec.hostUsers is false; its containers cannot have volumeDevices"


def test_a_port_of_the_host_is_that_of_the_container_on_its_network() -> None:
    (found,) = faults({"ports": [{"containerPort": 80, "hostPort": 81}]}, hostNetwork=True)
    assert found == "spec.containers[0].ports[0].hostPort is 81; with hostNetwork, the containerPort 80 is valid"


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (volume(secret={}), "spec.volumes[0].secret.secretName is missing"),
        (volume(configMap={"name": "c", "items": [{"key": "k", "path": "../a"}]}), "path is '../a'; a relative path without"),
        (volume(projected={"sources": [{"secret": {"name": "a"}, "configMap": {"name": "c"}}]}), "configMap, secret; one of"),
        (volume(projected={"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 60}}]}), "is 60; 600 to"),
        (volume(hostPath={"path": "/a", "type": "Dir"}), "hostPath.type is 'Dir'; valid are BlockDevice"),
        (volume(nfs={"server": "s", "path": "a"}), "nfs.path is 'a'; an absolute path is valid"),
        (volume(iscsi={"targetPortal": "a", "iqn": "x", "lun": 0}), "iscsi.iqn is 'x'; names that begin with iqn"),
        (volume(fc={}), "spec.volumes[0].fc has to have one of targetWWNs, wwids"),
        (volume(emptyDir={"sizeLimit": "-1"}), "spec.volumes[0].emptyDir.sizeLimit is '-1', which is no quantity"),
        ({"overhead": {"cpu": 1}}, "spec.overhead is set without a runtimeClassName"),
        ({"priority": 5}, "spec.priority is 5; what its class has is valid (0)"),
        ({"priority": 2 * 10**9, "priorityClassName": "a"}, "what its class has is valid (up to 1000000000)"),
        ({"resourceClaims": [{"name": "g"}]}, "[0] has to have one of resourceClaimName, resourceClaimTemplateName"),
        ({"hostAliases": [{"ip": "a"}]}, "spec.hostAliases[0].ip is 'a', which is no IP address"),
        ({"dnsConfig": {"nameservers": ["a"]}}, "spec.dnsConfig.nameservers[0] is 'a', which is no IP address"),
        ({"dnsConfig": {"nameservers": ["10.0.0.1"] * 4}}, "spec.dnsConfig.nameservers has more than 3"),
        ({"dnsConfig": {"searches": ["a"] * 33}}, "spec.dnsConfig.searches has more than 32"),
        ({"preemptionPolicy": "Never"}, "spec.preemptionPolicy is Never; only its class decides that"),
        ({"preemptionPolicy": ""}, "spec.preemptionPolicy is empty; only its class decides that"),
        ({"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.a"}]}}, "with hostNetwork it is the host's"),
        ({"tolerations": [{"key": "a", "operator": "Gt", "value": "5"}]}, "operator is 'Gt'; valid are Equal, Exists"),
        ({"hostnameOverride": "a", "hostNetwork": True}, "spec.hostnameOverride is set; beside hostNetwork it is not valid"),
        ({"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]}, "is 0; 1 to"),
        ({"securityContext": {"fsGroupChangePolicy": "No"}}, "fsGroupChangePolicy is 'No'; valid are Always, OnRootMismatch"),
        ({"securityContext": {"supplementalGroups": [-1]}}, "spec.securityContext.supplementalGroups[0] is -1; 0 to"),
        ({"tolerations": [{"key": "a b", "operator": "Exists"}]}, "spec.tolerations[0].key is 'a b'; up to 63 letters"),
        ({"resources": {"claims": [{"name": "x"}]}}, "spec.resources.claims is set; of a pod as a whole it is not valid"),
        ({"priorityClassName": "system-mine"}, "of names that begin with system-, system-cluster-critical and"),
        ({"priorityClassName": "My_Class"}, "spec.priorityClassName is 'My_Class'; lower-case letters, digits, dashes and dots"),
        ({"securityContext": {"windowsOptions": {"hostProcess": True}}}, "hostProcess is true; the nodes of a load have Linux"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value)[:60],
)  # fmt: skip
def test_a_value_that_no_pod_has_is_refused(pod: dict[str, Any], said: str) -> None:
    (found,) = faults({}, **pod)
    assert said in found


SIGNAL = "spec.containers[0].lifecycle.stopSignal is 'TERM'; SIGTERM, SIGRTMIN+3 and the like are valid"


@pytest.mark.parametrize(
    ("container", "pod", "said"),
    [
        ({"env": [{"name": "A", "valueFrom": {}}]}, {}, "env[0].valueFrom has to have one of configMapKeyRef, fieldRef"),
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a/b"}}}]}, {}, "key is 'a/b'; letters"),
        ({"envFrom": [{}]}, {}, "spec.containers[0].envFrom[0] has to have one of configMapRef, secretRef"),
        ({"ports": [{"containerPort": 80, "hostPort": -1}]}, {}, "ports[0].hostPort is -1; 0 to 65535 is valid"),
        ({"volumeDevices": [{"name": "v", "devicePath": "/d"}]}, volume(), "volumeDevices[0].name is 'v', which is no claim"),
        ({"resizePolicy": [{"resourceName": "cpu"}]}, {}, "resizePolicy[0].restartPolicy is missing"),
        ({"resources": {"limits": {"a b/c": 1}}}, {}, "resources.limits.a b/c is no resource"),
        ({"resources": {"limits": {"cpu": 2}}}, {"resources": {"limits": {"cpu": 1}}}, "cpu is 1; its containers have more"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"}]}, volume(), "only a"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/v", "recursiveReadOnly": "Enabled"}]}, volume(), "it needs readOnly"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a", "subPathExpr": "b"}]}, volume(), "one of them"),
        ({"lifecycle": {"stopSignal": "TERM"}}, {"os": {"name": "linux"}}, SIGNAL),
        ({"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "/a"}}}, {}, "is '/a'; a relative"),
        ({"securityContext": {"procMount": "Unmasked"}}, {}, "procMount is Unmasked; it needs hostUsers false"),
        ({"securityContext": {"runAsNonRoot": True}}, {"securityContext": {"runAsUser": 0}}, "no kubelet starts such a"),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_that_no_container_of_the_pod_has_is_refused(container: Any, pod: Any, said: str) -> None:
    (found,) = faults(container, **pod)
    assert said in found


def of_resource(resource: str, divisor: Any) -> dict[str, Any]:
    return {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": resource, "divisor": divisor}}}]}


def from_file(volume: str) -> dict[str, Any]:
    return {"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": volume, "path": "p", "key": "k"}}}]}


def spread(**selector: Any) -> dict[str, Any]:
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


ITEM = {"items": [{"key": "k", "path": "p"}]}
TWO_OF_A_PATH = {"sources": [{"configMap": {"name": "c", **ITEM}}, {"secret": {"name": "s", **ITEM}}]}
OF_A_POD = {"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}
OF_NO_CONTAINER = {"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}
OF_A_CONTAINER = {"path": "a", "resourceFieldRef": {"resource": "limits.cpu", "containerName": "app"}}
DEVICE = {"volumeDevices": [{"name": "v", "devicePath": "/d"}], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
ON_LINUX = {"os": {"name": "linux"}}
WINDOWS = {"securityContext": {"windowsOptions": {"runAsUserName": "a"}}}
ARMOR = {"securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": " a"}}}
OF_NO_SIZE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "x"}}}


@pytest.mark.parametrize(
    ("container", "pod", "said"),
    [
        (of_resource("limits.cpu", "3"), {}, "resourceFieldRef.divisor is '3'; of limits.cpu, 1 and 1m are valid"),
        (of_resource("limits.memory", 1024), {}, "divisor is 1024; of limits.memory, 1, 1k, 1Ki, 1M, 1Mi and so on are valid"),
        (of_resource("limits.memory", "1e3"), {}, "divisor is '1e3'; of limits.memory, 1, 1k, 1Ki, 1M, 1Mi and so on are valid"),
        (from_file("v"), volume(configMap={"name": "c"}), "fileKeyRef.volumeName is 'v', which is no emptyDir of the pod"),
        (DEVICE, volume(persistentVolumeClaim={"claimName": "c"}), "[0].name is 'v', which is in volumeMounts too"),
        (WINDOWS, ON_LINUX, "spec.containers[0].securityContext.windowsOptions is set; with spec.os.name linux"),
        ({}, WINDOWS | ON_LINUX, "spec.securityContext.windowsOptions is set; with spec.os.name linux it is not valid"),
        (ARMOR, {}, "appArmorProfile.localhostProfile is ' a'; a name without spaces around it is valid"),
        ({}, volume(projected=TWO_OF_A_PATH), "spec.volumes[0].projected has the path 'p' twice"),
        ({}, volume(downwardAPI={"items": [OF_A_POD]}), "fieldRef.fieldPath is 'spec.nodeName'; name, namespace, uid, labels"),
        ({}, volume(downwardAPI={"items": [OF_NO_CONTAINER]}), "items[0].resourceFieldRef.containerName is missing"),
        ({}, volume(storageos={}), "spec.volumes[0].storageos.volumeName is missing"),
        ({}, volume(csi={"driver": "a", "nodePublishSecretRef": {}}), "csi.nodePublishSecretRef.name is missing"),
        ({}, volume(ephemeral={"volumeClaimTemplate": {"spec": OF_NO_SIZE}}), "requests.storage is 'x', which is no quantity"),
        ({}, spread(matchLabels={"a b": "c"}), "labelSelector.matchLabels has 'a b': 'c', which is no label"),
        ({}, spread(matchExpressions=[{"key": "a", "operator": "Is"}]), "operator is 'Is'; valid are In, NotIn, Exists"),
        ({}, spread(matchExpressions=[{"key": "a", "operator": "In"}]), "values is missing; the operator In needs some"),
        ({}, spread(matchExpressions=[{"key": "a"}]), "matchExpressions[0].operator is 'missing'; valid are In, NotIn, Exists"),
        ({}, spread(matchExpressions=[{"key": "a", "operator": "NotIn", "values": ["b c"]}]), "[0].values has 'b c', which is"),
        ({}, spread(matchExpressions=["a"]), "labelSelector has to have a mapping as matchLabels, and a list of mappings"),
    ],
    ids=str,
)  # fmt: skip
def test_what_an_api_server_refuses_further_in_is_refused(container: Any, pod: Any, said: str) -> None:
    (found,) = faults(container, **pod)
    assert said in found


@pytest.mark.parametrize(
    ("container", "pod"),
    [
        *((of_resource("limits.cpu", divisor), {}) for divisor in (0, "1m", "0.001", 1, "1000m")),
        *((of_resource("requests.memory", divisor), {}) for divisor in (None, 1, "1000k", "1Mi", "1024Ki", "1E")),
        (from_file("v"), volume(emptyDir={})),
        (WINDOWS, {}),
        ({}, volume(downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.annotations['x']"}}]})),
        ({}, volume(downwardAPI={"items": [OF_A_CONTAINER]})),
        ({}, spread(matchLabels={"a": ""}, matchExpressions=[{"key": "a", "operator": "In", "values": ["b"]}])),
        ({}, spread(matchExpressions=[{"key": "a", "operator": "Exists", "values": []}])),
    ],
    ids=str,
)  # fmt: skip
def test_what_an_api_server_takes_further_in_is_taken(container: dict[str, Any], pod: dict[str, Any]) -> None:
    assert faults(container, **pod) == []


@pytest.mark.parametrize("path", ["/a", "../a", "a/../../b"])
def test_a_sub_path_is_inside_its_volume(path: str) -> None:
    (found,) = faults({"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": path}]}, volumes=[{"name": "v"}])
    assert f"volumeMounts[0].subPath is '{path}'; a path inside the volume is valid" in found


@pytest.mark.parametrize(
    ("container", "pod"),
    [
        ({"resources": {"limits": {HUGE: "4Mi", "memory": "1Mi"}}}, {}),
        ({"ports": [{"containerPort": 9100, "hostPort": 9100, "name": "metrics"}]}, {"hostNetwork": True}),
        ({"livenessProbe": {"httpGet": {"port": "http"}}}, {}),
        ({"ports": [{"containerPort": 53, "hostPort": 53}, {"containerPort": 53, "hostPort": 53, "protocol": "UDP"}]}, {}),
        ({}, {"tolerations": [{"operator": "Exists"}, {"key": "a", "value": "b"}]}),
        ({}, {"resources": {"limits": {"memory": "1Gi"}}}),
        ({"resources": {"limits": {"cpu": " 1 "}}}, {"overhead": {"cpu": "10m"}, "runtimeClassName": "gvisor"}),
        ({"lifecycle": {"stopSignal": "SIGRTMAX-14"}}, {"os": {"name": "linux"}, "priorityClassName": "a", "priority": 7}),
        ({"securityContext": {"runAsUser": 5}}, {"securityContext": {"runAsNonRoot": True, "runAsUser": 0}}),
        ({"envFrom": [{"prefix": "A-", "secretRef": {"name": "s", "optional": True}}]}, volume(csi={"driver": "d"})),
        ({}, volume(ephemeral={"volumeClaimTemplate": {"metadata": {}, "spec": CLAIM}})),
        ({"volumeDevices": [{"name": "v", "devicePath": "/d"}]}, volume(persistentVolumeClaim={"claimName": "c"})),
    ],
    ids=str,
)  # fmt: skip
def test_what_an_api_server_takes_is_taken(container: dict[str, Any], pod: dict[str, Any]) -> None:
    assert faults(container, **pod) == []


def test_annotations_have_keys_of_their_kind() -> None:
    assert list(invalid_annotations({"checksum/config": "a b", "Example.com/Key": ""})) == []
    assert list(invalid_annotations({"/x": ""})) == ["metadata.annotations has the key '/x', which is none"]


def test_a_container_of_knative_needs_no_name() -> None:
    service = {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "spec": {
            "template": {"spec": {"containers": [{"image": "app:1"}], "initContainers": [{"image": "init:1"}, {}]}}
        },
    }
    ((_, pod),) = pods_in(service)
    assert pod["spec"]["containers"] == [{"name": "user-container", "image": "app:1"}]
    assert pod["spec"]["initContainers"] == [
        {"name": "init-container-0", "image": "init:1"},
        {"name": "init-container-1"},
    ]


@pytest.mark.parametrize(("ports", "port"), [([], 8080), ([{"containerPort": 80}], 80)])
def test_a_probe_of_knative_needs_no_port(ports: list[Any], port: int) -> None:
    container = {"image": "app:1", "ports": ports, "livenessProbe": {"httpGet": {"path": "/"}}}
    service = {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    ((_, pod),) = pods_in(service)
    (named,) = pod["spec"]["containers"]
    assert named["livenessProbe"] == {"httpGet": {"path": "/", "port": port}}
    assert list(invalid(pod["spec"])) == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "App_1"}, "'App_1' is no name of a container"),
        ({"name": "{{ .Chart.Name }}"}, "render the template first"),
        (
            {"image": "{{ .Values.image }}:1"},
            "image is '{{ .Values.image }}:1', which is no image; render the template",
        ),
        ({"image": ""}, "image is '', which is no image"),
        ({"image": "${REGISTRY}/app:1"}, "which is no image; render the template first"),
        ({"image": "<your image>"}, "which is no image; render the template first"),
        ({"image": "ko://example.com/cmd/app"}, "which is no image; render the template first"),
        ({"resources": {"limits": {"memory": "1 GB"}}}, "resources.limits.memory is '1 GB', which is no quantity"),
        ({"resources": {"requests": {"cpu": -1}}}, "resources.requests.cpu is -1, which is no quantity"),
        ({"livenessProbe": {"exec": {}, "periodSeconds": -1}}, "livenessProbe.periodSeconds is -1; 0 or more is valid"),
        ({"livenessProbe": {"periodSeconds": 1}}, "livenessProbe has to have one of exec, grpc, httpGet, tcpSocket"),
        ({"startupProbe": {"exec": {}, "grpc": {"port": 1}}}, "startupProbe has to have one of"),
        ({"livenessProbe": {}}, "spec.containers[0].livenessProbe has to have one of exec, grpc, httpGet, tcpSocket"),
        ({"livenessProbe": {"exec": {}}}, "livenessProbe.exec.command is missing"),
        ({"livenessProbe": {"httpGet": {"port": 0}}}, "livenessProbe.httpGet.port is 0; 1 to 65535 is valid"),
        (
            {"startupProbe": {"grpc": {"port": 1}, "successThreshold": 2}},
            "startupProbe.successThreshold is 2; of this probe, 1 is valid",
        ),
        ({"lifecycle": {"postStart": {}}}, "lifecycle.postStart has to have one of exec, httpGet, sleep, tcpSocket"),
        ({"image": "app@sha256:12"}, "spec.containers[0].image is 'app@sha256:12', which is no image"),
        ({"image": "App:1"}, "image is 'App:1', which is no image"),
        (
            {"resources": {"requests": {"cpu": "1500m"}, "limits": {"cpu": 1}}},
            "resources.requests.cpu is 1500m, and the limit 1; at most the limit is valid",
        ),
        ({"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1G"}}}, "the limit 1G; at most"),
        ({"resources": {"requests": {"a.b/gpu": 1}}}, "resources.limits.a.b/gpu is missing"),
        ({"resources": {"limits": {"a.b/gpu": "1.5"}}}, "a whole number is valid"),
        ({"resources": {"limits": {"mem": "1"}}}, "resources.limits.mem is no resource"),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            "volumeMounts[0].name is 'v'; the pod has no such volume, and",
        ),
        ({"ports": [{"containerPort": 70000}]}, "ports[0].containerPort is 70000"),
        (
            {"ports": [{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]},
            "ports[1].name is 'a' twice",
        ),
        ({"env": [{"value": "x"}]}, "env[0].name is missing"),
        ({"imagePullPolicy": "Sometimes"}, "imagePullPolicy is 'Sometimes'; valid are Always, IfNotPresent, Never"),
        ({"restartPolicyRules": [RULE]}, "restartPolicy is missing; restartPolicyRules need it beside them"),
        ({"restartPolicy": "Never", "restartPolicyRules": [RULE] * 21}, "has 21 rules; 20 at most are valid"),
        ({"resources": {"limits": {"hugepages-2Mi": "4Mi"}}}, "resources has hugepages without cpu or memory"),
        (
            {"resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": 1}, "requests": {"hugepages-2Mi": "2Mi"}}},
            "and the limit 4Mi; the same as the limit is valid",
        ),
        ({"resources": {"claims": [{"name": "gpu"}]}}, "resources.claims[0].name is 'gpu'; spec.resourceClaims has no"),
        (
            {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
            "securityContext.allowPrivilegeEscalation is false; beside privileged",
        ),
        ({"securityContext": {"runAsUser": -5}}, "securityContext.runAsUser is -5"),
        ({"securityContext": {"seccompProfile": {"type": "Localhost"}}}, "seccompProfile.localhostProfile is missing"),
        ({"env": [{"name": "A=B", "value": "x"}]}, "env[0].name is 'A=B'; printable ASCII without = is valid"),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.foo"}}}]},
            "fieldRef.fieldPath is 'spec.foo', which is no field",
        ),
        ({"ports": [{"containerPort": 1, "name": "more-than-15-letters"}]}, "ports[0].name is 'more-than-15-letters'"),
        ({"ports": [{"containerPort": 1, "protocol": "tcp"}]}, "ports[0].protocol is 'tcp'; valid are TCP, UDP, SCTP"),
        ({"readinessProbe": {"grpc": {"port": 1}, "terminationGracePeriodSeconds": 5}}, "this probe ends nothing"),
        (
            {"livenessProbe": {"httpGet": {"port": 1, "scheme": "http"}}},
            "httpGet.scheme is 'http'; valid are HTTP, HTTPS",
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 100}}}},
            "seconds is 100; 0 to the grace period, 30, is valid",
        ),
        ({"lifecycle": {"stopSignal": "SIGTERM"}}, "lifecycle.stopSignal needs spec.os.name"),
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "X"}]}, "resizePolicy[0].restartPolicy is 'X'"),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/x:y"}]},
            "mountPath is '/x:y'; a path without a colon is valid",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value)[:50],
)
def test_a_value_that_the_api_server_refuses_is_refused_before_a_cluster_is_made(
    fields: dict[str, Any], said: str
) -> None:
    assert said in " ".join(faults_of(template(spec(**fields))))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"dnsPolicy": "None"}, "spec.dnsConfig.nameservers is missing"),
        ({"hostPID": True, "shareProcessNamespace": True}, "spec.shareProcessNamespace is true beside hostPID"),
        ({"tolerations": [{"operator": "Exists", "value": "x"}]}, "spec.tolerations[0].value is 'x'"),
        ({"tolerations": [{"key": "a", "operator": "In"}]}, "spec.tolerations[0].operator is 'In'"),
        ({"volumes": [{"name": "D_x", "emptyDir": {}}]}, "spec.volumes[0].name is 'D_x'"),
        (
            {"volumes": [{"name": "d", "emptyDir": {}, "hostPath": {"path": "/"}}]},
            "has emptyDir, hostPath; one of them",
        ),
        ({"volumes": [{"name": "d", "configMap": {"name": "c", "defaultMode": 644}}]}, "defaultMode is 644; 0 to 0777"),
        (
            {"initContainers": [{"name": "i", "image": "i:1", "livenessProbe": {"grpc": {"port": 1}}}]},
            "spec.initContainers[0].livenessProbe is set; an init container may have it if its restartPolicy is Always",
        ),
    ],
    ids=str,
)
def test_a_pod_that_the_api_server_refuses_is_refused_before_a_cluster_is_made(fields: Any, said: str) -> None:
    assert said in " ".join(faults_of(template(spec() | fields)))


def test_labels_that_no_object_can_have_are_refused() -> None:
    labelled = PodTemplate(file="app.yaml", spec=spec(), labels={"a.b/c": "x", "bad label": "x", "v": "a b"})
    first, second = faults_of(labelled)
    assert (first[:32], second[:30]) == ("metadata.labels has 'bad label':", "metadata.labels has 'v': 'a b'")


@pytest.mark.parametrize(
    "fields",
    [
        {"resources": {"requests": {"memory": "1024Mi", "cpu": 0.5}, "limits": {"memory": "1Gi", "cpu": "5e-1"}}},
        {"image": "reg.example:5000/a/b__c:v1.0-x"},
        {"livenessProbe": {"httpGet": {"port": "http"}, "successThreshold": 1}},
        {"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}},
        {"resources": {"requests": {"cpu": None}, "limits": None}},
        {"resources": {"limits": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}}},
        {"env": [{"name": "a.b-c", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}}]},
        {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"add": ["SYS_ADMIN"]}}},
        {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, "runAsUser": 0}},
    ],
    ids=str,
)
def test_what_the_api_server_takes_is_taken(fields: dict[str, Any]) -> None:
    assert list(faults_of(template(spec(**fields)))) == []
