"""pytest-kubernetes' own options: what they mean for the fixtures of this plugin. What they cannot mean is refused.

Of 0.9.0: `--k8s-kubeconfig` is dropped without a word beside a provider that makes clusters, and with
`--k8s-kubeconfig-override` such a provider deletes the file.
"""

from typing import Any, NamedTuple, Self

import pytest

from crashloop.errors import UsageError

EXTERNAL = "external"
DEFAULT_NAME = "pytest"


class K8sOptions(NamedTuple):
    """Their values; None if they are not given."""

    cluster_name: str | None = None
    provider: str | None = None
    version: str | None = None
    provider_config: str | None = None
    kubeconfig: str | None = None
    kubeconfig_override: str | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """All None without pytest-kubernetes."""
        found = cls(*(config.getoption(f"k8s_{name}", None) for name in cls._fields))
        return found._replace(cluster_name=None) if found.cluster_name == DEFAULT_NAME else found

    @property
    def given(self) -> dict[str, str]:
        """Values by option."""
        return {f"--k8s-{name.replace('_', '-')}": value for name, value in self._asdict().items() if value is not None}

    def check(self) -> None:
        """Raise UsageError for options that contradict each other."""
        if self._existing and self.provider is not None and self.provider.lower() != EXTERNAL:
            raise UsageError(
                f"{self._existing} names a cluster that exists, and --k8s-provider {self.provider} makes one.\nGive one of them."
            )

    def check_for_run(self) -> None:
        """Raise UsageError for any of them: runs of crashloop take none."""
        for option, value in self.given.items():
            raise UsageError(
                f"{option} {value}: an option of pytest-kubernetes, for its fixture `k8s`, which no test here uses.\n"
                "Use --provider, and with --provider existing --kubeconfig."
            )

    def provider_for_profiles(self, chosen: str | None) -> str:
        """What makes the nodes of `crashloop_cluster`: by --crashloop-provider, else by these. Raises UsageError."""
        refused: dict[str, Any] = {key: value for key, value in self.given.items() if key in _OF_OTHER_CLUSTERS}
        for option, value in refused.items():
            raise UsageError(
                f"{option} {value}: crashloop_cluster makes a cluster of its own, by kubelet profiles.\n"
                "Leave the option out, or use the fixture `k8s`."
            )
        if chosen is not None or self.provider is None:
            return chosen or "local"
        if self.provider.lower() == "kind":
            return "kind"
        raise UsageError(
            f"--k8s-provider {self.provider}: it makes no nodes with kubelet profiles; only local and kind do.\n"
            "Choose with --crashloop-provider."
        )

    @property
    def _existing(self) -> str:
        if self.kubeconfig_override is not None:
            return f"--k8s-kubeconfig-override {self.kubeconfig_override}"
        return f"--k8s-kubeconfig {self.kubeconfig}" if self.kubeconfig is not None else ""


_OF_OTHER_CLUSTERS = ("--k8s-kubeconfig", "--k8s-kubeconfig-override", "--k8s-provider-config")
