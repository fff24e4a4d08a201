"""What containers have of their pod: resources and ports of its host, beside init containers and sidecars; and its class."""

from typing import Any

import pytest

from crashloop.stress.pod_rules import invalid_class
from crashloop.stress.pod_template import faults_of
from suites.selftest.kit.own_pods import faults, spec, template

PORTS = [{"containerPort": 80, "hostPort": 80}]


def init(**fields: Any) -> dict[str, Any]:
    return {"initContainers": [{"name": "setup", "image": "setup:1", **fields}]}


def cpu(**resources: Any) -> dict[str, Any]:
    return {"resources": {kind: {"cpu": amount} for kind, amount in resources.items()}}


@pytest.mark.parametrize(
    ("container", "pod", "said"),
    [
        ({}, init(ports=[*PORTS, {"containerPort": 81, "hostPort": 80}]), "initContainers[0].ports[1].hostPort is 80 twice"),
        ({"ports": [{"containerPort": 80}, {"containerPort": 80}]}, {"hostNetwork": True}, "ports[1].hostPort is 80 twice"),
        ({}, init(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]), "may have it if it is a sidecar"),
        ({}, cpu(requests=1) | init(**cpu(requests=2)), "spec.resources.requests.cpu is 1; its containers have more"),
        ({}, cpu(limits=1) | init(**cpu(limits=2)), "spec.resources.limits.cpu is 1; its containers request more"),
        (cpu(requests=2), cpu(limits=1), "spec.resources.limits.cpu is 1; its containers request more"),
        (cpu(requests="1"), cpu(requests=1) | init(restartPolicy="Always", **cpu(limits=1)), "cpu is 1; its containers"),
    ],
)  # fmt: skip
def test_init_containers_and_sidecars_count_with_the_pod(container: dict[str, Any], pod: Any, said: str) -> None:
    (found,) = faults(container, **pod)
    assert found.startswith("spec.")
    assert said in found


@pytest.mark.parametrize(
    ("container", "pod"),
    [
        ({"ports": PORTS}, init(ports=PORTS)),
        ({"ports": PORTS}, init(ports=PORTS, restartPolicy="Always")),
        ({}, init(restartPolicy="Always", resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}])),
        (cpu(requests="600m"), cpu(requests=1) | init(**cpu(requests="600m"))),
        ({}, cpu(limits=1) | init(**cpu(limits=2, requests=1))),
    ],
)
def test_init_containers_run_before_the_others(container: dict[str, Any], pod: dict[str, Any]) -> None:
    assert faults(container, **pod) == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"value": 10}, None),
        ({"value": 2_000_000_000}, "value is 2000000000; a whole number up to 1000000000 is valid"),
        ({"value": "high"}, "value is 'high'; a whole number up to 1000000000 is valid"),
        ({"value": 1, "metadata": []}, None),
        ({"value": None}, None),
        ({"value": True}, "value is True; a whole number"),
        ({"value": 1, "preemptionPolicy": ""}, "preemptionPolicy is 'empty'; valid are Never, PreemptLowerPriority"),
        ({"value": 1, "metadata": {"name": "My_Class"}}, "metadata.name is 'My_Class'; lower-case letters"),
        (
            {"value": 1, "metadata": {"name": "system-mine"}},
            "metadata.name is 'system-mine'; names that begin with system-",
        ),
        (
            {"value": 1, "preemptionPolicy": "Maybe"},
            "preemptionPolicy is 'Maybe'; valid are Never, PreemptLowerPriority",
        ),
    ],
)
def test_a_priority_class_is_one_that_a_cluster_can_have(fields: dict[str, Any], said: str | None) -> None:
    found = list(invalid_class(fields))
    assert [each.startswith(said or "none") for each in found] == [True] * (said is not None)


@pytest.mark.parametrize("value", ["100m", "1", "0.5", "64Mi", "1e3", "1E", "129M", 2, "+1", ".5"])
def test_a_quantity_of_kubernetes_is_taken(value: object) -> None:
    assert list(faults_of(template(spec(resources={"limits": {"cpu": value}})))) == []


def test_a_quantity_that_nobody_has_is_refused() -> None:
    (found,) = faults({"resources": {"limits": {"cpu": "9" * 5000}}})
    assert found.endswith("which is no quantity, such as 500m or 64Mi")
