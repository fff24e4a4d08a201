"""Options of a conformance run, as data, and which contradict each other. Pure.

pytest registers them, and `crashloop run` shows and passes them on."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from crashloop.errors import UsageError
from crashloop.kube.objects import check_namespace
from crashloop.spec.version import DEFAULT_VERSION

SCOPES = ("quick", "full", "soak", "versions")
"""Values of `crashloop.spec.requirement.Scope`, without its imports: `crashloop --help` needs them."""

MAKERS = ("local", "kind")
LENDERS = ("existing",)
PROVIDERS = (*MAKERS, *LENDERS)
"""As `crashloop.cluster.providers.PROVIDERS`, likewise."""

DEFAULT_IMAGE = "docker.io/library/busybox:1.37"

KUBERNETES_HELP = f"Version of cluster and kubelets. Default: {DEFAULT_VERSION}"

SELECTION = "What is judged"
CLUSTER = "Cluster and its programs"
EXISTING = "A cluster that exists (--provider existing)"
RUN = "The run"


class RunOption(NamedTuple):
    """One option."""

    name: str
    panel: str
    help: str
    type: type = str
    """str, int, or bool for a flag."""
    metavar: str | None = None
    default: Any = None
    choices: tuple[str, ...] = ()
    repeats: bool = False
    providers: tuple[str, ...] = PROVIDERS
    """Those that take it."""

    @property
    def field(self) -> str:
        """The name in Python."""
        return self.name.lstrip("-").replace("-", "_")


OPTIONS = (
    RunOption(
        "--scope", SELECTION,
        "quick watches a pod for 90 s at most, full for 20 min, soak longer; versions has kubelets of several releases.",
        default="quick", choices=SCOPES,
    ),
    RunOption("--requirement", SELECTION, "Judge this requirement; repeatable.", metavar="ID", repeats=True),
    RunOption("--topic", SELECTION, "Judge this topic, such as CAP; repeatable.", metavar="TOPIC", repeats=True),
    RunOption("--skip", SELECTION, "Leave out this requirement or topic; repeatable.", metavar="ID", repeats=True),
    RunOption("--at-least", SELECTION, "Exit code 3 unless N requirements are judged.", type=int, metavar="N", default=0),
    RunOption("--provider", CLUSTER, "What provides the cluster.", default="local", choices=PROVIDERS),
    RunOption("--kubernetes-version", CLUSTER, f"{KUBERNETES_HELP}; with --provider existing the cluster's.", metavar="V"),
    RunOption(
        "--feature-gate", CLUSTER, "Feature gate of the control plane; repeatable.",
        metavar="NAME=BOOL", repeats=True, providers=MAKERS,
    ),
    RunOption(
        "--kubelet-gate", CLUSTER, "Feature gate of every kubelet whose profile does not set it; repeatable.",
        metavar="NAME=BOOL", repeats=True, providers=MAKERS,
    ),
    RunOption("--kubelet-binary", CLUSTER, "Your own kubelet for all nodes.", metavar="PATH", providers=MAKERS),
    RunOption("--bin-dir", CLUSTER, "Folder with your own binaries.", metavar="DIR", providers=MAKERS),
    RunOption("--node-image", CLUSTER, "Node image, or own (provider kind).", metavar="IMAGE", providers=("kind",)),
    RunOption("--kind-binary", CLUSTER, "Your own kind (provider kind).", metavar="PATH", providers=("kind",)),
    RunOption("--kind-config", CLUSTER, "Your file for kind, merged under the run's nodes.", metavar="FILE", providers=("kind",)),
    RunOption("--cluster", CLUSTER, "Run on this cluster (`crashloop up`).", metavar="NAME", providers=MAKERS),
    RunOption("--keep", CLUSTER, "Leave the cluster up; `crashloop down NAME` removes it.", type=bool, providers=MAKERS),
    RunOption("--kubeconfig", EXISTING, "Default: $KUBECONFIG, else ~/.kube/config.", metavar="PATH", providers=LENDERS),
    RunOption("--context", EXISTING, "Context of the kubeconfig.", metavar="NAME", providers=LENDERS),
    RunOption("--namespace", EXISTING, "An existing namespace for the pods.", metavar="NAME", providers=LENDERS),
    RunOption("--image", EXISTING, f"Image of the containers. Default: {DEFAULT_IMAGE}.", metavar="IMAGE", providers=LENDERS),
    RunOption("--max-pods", EXISTING, "Pods at once. Default: 40.", type=int, metavar="N", providers=LENDERS),
    RunOption("--node-selector", EXISTING, "Labels of the nodes to use.", metavar="LABELS", providers=LENDERS),
    RunOption("--read-configz", EXISTING, "Read the kubelets' configuration (nodes/configz).", type=bool, providers=LENDERS),
    RunOption(
        "--node-profile", EXISTING, "Kubelet profile of a node; repeatable. Default: all nodes are stock.",
        metavar="NODE=PROFILE", repeats=True, providers=LENDERS,
    ),
    RunOption("--run-dir", RUN, "Where to write. Default: runs/<UTC time>-conformance.", metavar="DIR"),
    RunOption("--dry-run", RUN, "Print nodes, scenarios and the expected time; start nothing.", type=bool),
)  # fmt: skip
"""Registered with pytest by fixtures/options.py."""

OF_LENDERS = tuple(option for option in OPTIONS if option.providers == LENDERS)
"""Those that name an existing cluster and limit its use."""

CHOOSING = frozenset({"--requirement", "--topic", "--skip", "--at-least"})
"""Options that select requirements."""

OWN_CONTROL_PLANE = ("--bin-dir", "--node-image", "--cluster")
"""Options that bring an API server that is not the release's, or that runs already."""

OF_PYTEST = (
    RunOption("-k", SELECTION, "Judge tests whose names match, as in pytest.", metavar="EXPRESSION"),
    RunOption("-n", RUN, "Processes that wait for scenarios (pytest-xdist).", metavar="N"),
)
"""Options of pytest that are worth showing; all others are passed on as well."""


def as_arguments(options: Iterable[RunOption], given: Mapping[str, Any]) -> list[str]:
    """The arguments for the options that were given."""
    return [argument for option in options for argument in arguments(option.name, given[option.field])]


def arguments(option: str, value: Any) -> list[str]:
    """Those of one option; none for a value that is None, False or an empty list."""
    if value is None or value is False or value == []:
        return []
    if value is True:
        return [option]
    values = value if isinstance(value, list) else [value]
    if option.startswith("--"):
        return [f"{option}={each}" for each in values]
    return [word for each in values for word in (option, str(each))]


def check_provider(provider: str, given: Mapping[str, object]) -> None:
    """Raise UsageError for an option that the provider would ignore. `given` has the options by name."""
    for option in OPTIONS:
        value = given.get(option.name)
        is_given = value is not None and value is not False and value != []  # 0 is a value
        if is_given and provider not in option.providers:
            raise UsageError(f"{option.name}: only for --provider {', '.join(option.providers)}, not {provider}.")


def check_objects(*, namespace: str | None, image: str | None, max_pods: int | None) -> None:
    """Raise UsageError for a namespace, an image or a number of pods that cannot be."""
    check_namespace(namespace)
    if image is not None and (not image or image != image.strip() or " " in image):
        raise UsageError(f"--image {image!r}: expected the name of an image, such as docker.io/library/busybox:1.37.")
    if max_pods is not None and max_pods < 1:
        raise UsageError(f"--max-pods {max_pods}: expected 1 or more.")
