"""The plan of a cluster as a text for people, printed by `crashloop up --plan`. Pure."""

from collections.abc import Iterator
from textwrap import indent

from crashloop.cluster.local.certificates import CertificatePlan
from crashloop.cluster.local.namespaces import HOLDER
from crashloop.cluster.local.plan import ControlPlanePlan, FilePlan, LinkPlan, NodePlan, ProcessPlan


def describe_control_plane(plan: ControlPlanePlan) -> str:
    """The control plane's part of a plan."""
    network = plan.network
    lines = [
        "# Control plane",
        "",
        f"network    {network.all}, API server at {network.api_server}, host at {network.host} on {network.host_link}",
        f"namespaces hub: {' '.join(HOLDER)}",
        "",
        *_certificates(plan.certificates),
        *_files(plan.files),
        *_processes("start at once", plan.first),
        *_processes("start once /readyz answers ok", plan.once_ready),
    ]
    return "\n".join(lines)


def describe_node(plan: NodePlan) -> str:
    """A node's part of a plan."""
    lines = [
        f"# Node {plan.name}, profile {plan.profile}",
        "",
        f"network    {plan.address}, pods in {plan.network.pods(plan.index)}",
        f"cgroup     /{plan.cgroup}",
        "",
        *_certificates((plan.certificate,)),
        *_files(plan.files),
        *_links(plan.links),
        *_processes("start at once", (plan.runtime,)),
        f"## run once {plan.runtime_socket} accepts connections",
        "",
        *_argv(plan.import_images),
        "",
        *_processes("start once the API server's /readyz answers ok", (plan.kubelet,)),
    ]
    return "\n".join(lines)


def _certificates(plans: tuple[CertificatePlan, ...]) -> Iterator[str]:
    for plan in plans:
        groups = "".join(f", O={each}" for each in plan.organizations)
        hosts = ", ".join((*plan.addresses, *plan.names))
        yield f"## certificate {plan.certificate}"
        yield ""
        yield f"    CN={plan.common_name}{groups}" + (f", for {hosts}" if hosts else "")
        yield ""


def _links(plans: tuple[LinkPlan, ...]) -> Iterator[str]:
    for plan in plans:
        yield f"## link {plan.path} to {plan.target}"
        yield ""


def _files(plans: tuple[FilePlan, ...]) -> Iterator[str]:
    for plan in plans:
        yield f"## file {plan.path}"
        yield ""
        yield indent(plan.text, "    ")


def _processes(when: str, plans: tuple[ProcessPlan, ...]) -> Iterator[str]:
    for plan in plans:
        yield f"## {when}: {plan.role}, in the namespaces of {plan.namespace}, log {plan.log}"
        yield ""
        yield from _argv(plan.argv)
        yield ""


def _argv(argv: tuple[str, ...]) -> Iterator[str]:
    last = len(argv) - 1
    for position, word in enumerate(argv):
        yield ("    " if position == 0 else "      ") + word + ("" if position == last else " \\")
