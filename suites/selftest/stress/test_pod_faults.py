"""A value of a pod that an API server refuses beside others of the pod is refused, and one that it takes is taken."""

from typing import Any

import pytest

from crashloop.stress.pod_faults import invalid, invalid_annotations
from crashloop.stress.pod_template import pods_in

HUGE = "hugepages-2Mi"


def faults(container: dict[str, Any], **pod: Any) -> list[str]:
    return list(invalid({"containers": [{"name": "app", "image": "app:1", **container}], **pod}))


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
        ({"securityContext": {"sysctls": [{"name": "a b"}]}}, "sysctls[0].name is 'a b', which is no name of a sysctl"),
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


def test_a_port_of_the_host_is_that_of_the_container_on_its_network() -> None:
    (found,) = faults({"ports": [{"containerPort": 80, "hostPort": 81}]}, hostNetwork=True)
    assert found == "spec.containers[0].ports[0].hostPort is 81; with hostNetwork, the containerPort 80 is valid"


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
        "spec": {"template": {"spec": {"containers": [{"image": "app:1"}]}}},
    }
    ((_, pod),) = pods_in(service)
    assert pod["spec"]["containers"] == [{"name": "user-container", "image": "app:1"}]
