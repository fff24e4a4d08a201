"""pytest-kubernetes' options mean what they say for the fixtures of the plugin, or are refused."""

import pytest

from crashloop.errors import UsageError
from crashloop.pytest_plugin.access import K8sOptions


@pytest.mark.parametrize(
    "options",
    [
        K8sOptions(),
        K8sOptions(provider="kind"),
        K8sOptions(kubeconfig="FILE"),
        K8sOptions(kubeconfig="FILE", provider="External"),
    ],
)
def test_one_way_to_a_cluster_is_accepted(options: K8sOptions) -> None:
    options.check()


@pytest.mark.parametrize("option", ["kubeconfig", "kubeconfig_override"])
def test_a_cluster_that_exists_and_one_to_be_made_are_a_contradiction(option: str) -> None:
    with pytest.raises(UsageError) as caught:
        K8sOptions(provider="kind", **{option: "FILE"}).check()
    spelt = option.replace("_", "-")
    assert str(caught.value) == (
        f"--k8s-{spelt} FILE names a cluster that exists, and --k8s-provider kind makes one.\nGive one of them."
    )


@pytest.mark.parametrize(
    ("options", "chosen", "provider"),
    [
        (K8sOptions(), None, "local"),
        (K8sOptions(), "kind", "kind"),
        (K8sOptions(provider="kind"), None, "kind"),
        (K8sOptions(provider="kind"), "local", "local"),
        (K8sOptions(provider="minikube"), "local", "local"),
        (K8sOptions(version="1.36.3"), None, "local"),
    ],
)
def test_nodes_with_profiles_are_made_by_the_provider_that_is_named(
    options: K8sOptions, chosen: str | None, provider: str
) -> None:
    assert options.provider_for_profiles(chosen) == provider


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (K8sOptions(provider="k3d"), "--k8s-provider k3d: it makes no nodes with kubelet profiles"),
        (K8sOptions(kubeconfig="FILE"), "--k8s-kubeconfig FILE: crashloop_cluster makes a cluster of its own"),
        (K8sOptions(kubeconfig_override="FILE"), "--k8s-kubeconfig-override FILE: crashloop_cluster makes"),
        (K8sOptions(provider_config="kind.yaml"), "--k8s-provider-config kind.yaml: crashloop_cluster makes"),
    ],
)
def test_an_option_that_nodes_with_profiles_cannot_have_is_refused(options: K8sOptions, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        options.provider_for_profiles(None)


def test_an_option_of_other_clusters_is_refused_even_beside_a_provider_of_ours() -> None:
    with pytest.raises(UsageError, match="--k8s-kubeconfig FILE"):
        K8sOptions(kubeconfig="FILE").provider_for_profiles("local")


@pytest.mark.parametrize("option", K8sOptions._fields)
def test_a_run_takes_none_of_them(option: str) -> None:
    K8sOptions().check_for_run()
    with pytest.raises(UsageError) as caught:
        K8sOptions(**{option: "x"}).check_for_run()
    assert str(caught.value).startswith(f"--k8s-{option.replace('_', '-')} x: an option of pytest-kubernetes")
