"""Kubelet profiles: what a file must look like, and what is refused before anything is brought up."""

from pathlib import Path

import pytest

from crashloop.errors import UsageError
from crashloop.model.config import Curve, Refusal, RefusalKind, effective_curve
from crashloop.model.variants import as_shipped
from crashloop.profiles import KUBELET_MANIFESTS, load_profile, validate_for_node
from crashloop.spec.profile import UNSET, KubeletProfile
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.profiles import all_profiles

NEWEST = KubernetesVersion.parse("1.37.1")
RELEASES = [KubernetesVersion.parse(release) for release in ("1.33.13", "1.34.8", "1.35.4", "1.36.3", "1.37.1")]
PROFILES = {profile.name: profile for profile in all_profiles()}
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

EXPECTED = "expected a KubeletConfiguration (kubelet.config.k8s.io/v1beta1), or an object of a tool that has one in it"

CURVES = {
    "stock": Curve(10, 300),
    "max-1s": Curve(1, 1),
    "max-1s-qps-5": Curve(1, 1),
    "max-2s": Curve(2, 2),
    "max-2500ms": Curve(2.5, 2.5),
    "max-4s": Curve(4, 4),
    "max-10s": Curve(10, 10),
    "max-11s": Curve(10, 11),
    "max-20s": Curve(10, 20),
    "max-60s": Curve(10, 60),
    "max-300s": Curve(10, 300),
    "max-gate-off": Curve(10, 300),
    "reduced-decay-max-gate-off": Curve(1, 60),
    "sync-5s": Curve(10, 300),
    "sync-2m": Curve(10, 300),
    "drop-in-20s": Curve(10, 20),
    "drop-ins-60s-20s": Curve(10, 20),
    "reduced-decay-max-2s": Curve(1, 2),
    "reduced-decay-max-4s": Curve(1, 4),
    "reduced-decay-max-60s": Curve(1, 60),
}
"""Profiles that every release accepts, with the delays that they stand for."""
CANDIDATES = {
    "max-minus-5s": "-5s",
    "max-0s": "0s",
    "max-500ms": "500ms",
    "max-999ms9": "999.9ms",
    "max-300s9": "300.9s",
    "max-301s": "301s",
    "max-number": 4,
    "max-no-unit": "4",
    "max-gate-off-but-set": "10s",
}
"""Profiles that every release refuses, with their maximum."""
WITH_UNKNOWN_FIELDS = {"unknown-field", "unknown-backoff-field"}
"""Candidates whose field the kubelet drops."""
ACCEPTED_BY_ROUNDING = "max-300s0009"
"""A candidate that is to be refused, and is not."""
BY_RELEASE = {"max-2s-default-gates", "reduced-decay", "rules-off", "rules-off-alone", "restart-all-off"}
"""Profiles whose meaning depends on the release."""
BEYOND_RESTARTS = {
    "sync-5s": {"syncFrequency"},
    "sync-2m": {"syncFrequency"},
    "unknown-field": {"restartBudget"},
    "max-1s-qps-5": {"kubeAPIQPS", "kubeAPIBurst", "eventRecordQPS", "eventBurst"},
}
"""What profiles set besides the two fields that decide about restarts."""


def profile_file(folder: Path, text: str, name: str = "own") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def message_of(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load_profile(path)
    return str(caught.value)


def test_every_profile_is_spoken_for() -> None:
    assert set(PROFILES) == set(CURVES) | set(CANDIDATES) | BY_RELEASE | WITH_UNKNOWN_FIELDS | {ACCEPTED_BY_ROUNDING}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda each: each.name)
def test_every_profile_says_what_it_is_for(profile: KubeletProfile) -> None:
    assert profile.description.endswith(".")
    assert set(profile.config) <= {"featureGates", "crashLoopBackOff"} | BEYOND_RESTARTS.get(profile.name, set())


@pytest.mark.parametrize("version", RELEASES, ids=str)
@pytest.mark.parametrize("name", CURVES)
def test_a_profile_means_the_same_in_every_release(name: str, version: KubernetesVersion) -> None:
    validate_for_node(PROFILES[name], version)
    assert effective_curve(PROFILES[name], version, deviations=as_shipped(version)) == CURVES[name]


@pytest.mark.parametrize("version", RELEASES, ids=str)
@pytest.mark.parametrize("name", sorted(WITH_UNKNOWN_FIELDS))
def test_an_unknown_field_means_nothing(name: str, version: KubernetesVersion) -> None:
    assert effective_curve(PROFILES[name], version, deviations=as_shipped(version)) == CURVES["stock"]


@pytest.mark.parametrize("version", RELEASES, ids=str)
def test_a_maximum_above_300_s_by_less_than_a_millisecond_is_taken_by_every_release(version: KubernetesVersion) -> None:
    candidate = PROFILES[ACCEPTED_BY_ROUNDING]
    assert effective_curve(candidate, version, deviations=as_shipped(version)) == Curve(10, 300.0009)
    refused = effective_curve(candidate, version)
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.OUT_OF_RANGE


@pytest.mark.parametrize("version", RELEASES, ids=str)
@pytest.mark.parametrize("name", CANDIDATES)
def test_a_candidate_to_be_refused_is_no_configuration_for_a_node(name: str, version: KubernetesVersion) -> None:
    assert PROFILES[name].max_container_restart_period == CANDIDATES[name]
    assert isinstance(effective_curve(PROFILES[name], version, deviations=as_shipped(version)), Refusal)
    with pytest.raises(UsageError, match=f'kubelet profile "{name}": kubelet v{version} refuses to start with it: '):
        validate_for_node(PROFILES[name], version)


def test_a_refusal_shows_the_kubelets_own_words() -> None:
    with pytest.raises(UsageError) as caught:
        validate_for_node(PROFILES["max-500ms"], NEWEST)
    assert str(caught.value) == (
        'kubelet profile "max-500ms": kubelet v1.37.1 refuses to start with it: invalid configuration: '
        "CrashLoopBackOff.MaxContainerRestartPeriod (got: 0.5 seconds) must be set between 1s and 300s.\n"
        "Change the profile, or use it only as the candidate of a start-up scenario."
    )


@pytest.mark.parametrize(
    ("name", "oldest"), [("reduced-decay", "1.33"), ("rules-off", "1.35"), ("restart-all-off", "1.35")]
)
def test_a_gate_needs_a_release_that_has_it(name: str, oldest: str) -> None:
    for version in RELEASES:
        curve = effective_curve(PROFILES[name], version, deviations=as_shipped(version))
        known = version >= KubernetesVersion.parse(oldest)
        assert (isinstance(curve, Refusal) and curve.kind is RefusalKind.UNKNOWN_GATE) != known


def test_a_profile_is_its_file_word_for_word() -> None:
    assert load_profile("reduced-decay-max-4s").config == {
        "featureGates": {"KubeletCrashLoopBackOffMax": True, "ReduceDefaultCrashLoopBackOffDecay": True},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "4s"},
    }
    assert load_profile("stock") == KubeletProfile(
        name="stock", description="Nothing is set: the delays and feature gates of the release."
    )
    assert load_profile("stock").max_container_restart_period is UNSET


def test_a_profile_of_ones_own_is_given_as_a_path(tmp_path: Path) -> None:
    text = f"# Ours,\n# for the pool of batch nodes.\n{HEAD}maxPods: 30\n"
    own = load_profile(str(profile_file(tmp_path, text, name="batch")))
    assert own == KubeletProfile(name="batch", config={"maxPods": 30}, description="Ours, for the pool of batch nodes.")
    validate_for_node(own, NEWEST)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        load_profile("max-3s")
    assert str(caught.value) == (
        f'kubelet profile "max-3s": unknown; expected one of {", ".join(sorted(PROFILES))}.\n'
        "Give the path of a file to use a profile of your own."
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gone.yaml"
    assert message_of(path) == (f'kubelet profile "gone": {path} cannot be read (No such file or directory).')


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("- stock\n", f"it is a list; {EXPECTED}.", id="a-list"),
        pytest.param("", f"it is empty; {EXPECTED}.", id="empty"),
        pytest.param(
            HEAD.replace("KubeletConfiguration", "Pod"),
            f"it is Pod (kubelet.config.k8s.io/v1beta1); {EXPECTED}.",
            id="a-pod",
        ),
        pytest.param(
            HEAD.replace("v1beta1", "v1"),
            "apiVersion is 'kubelet.config.k8s.io/v1'; a kubelet decodes kubelet.config.k8s.io/v1beta1.",
            id="other-version",
        ),
        pytest.param(
            HEAD.replace("kind: Kube", "kind: kube"),
            "kind is 'kubeletConfiguration'; a kubelet decodes KubeletConfiguration.",
            id="other-case",
        ),
        pytest.param(
            "apiVersion: kubelet.config.k8s.io/v1beta1\n",
            "kind is None; a kubelet decodes KubeletConfiguration.",
            id="no-kind",
        ),
        pytest.param("maxPods: 30\n", f"it is an object without a kind; {EXPECTED}.", id="no-version"),
        pytest.param(
            HEAD + "featureGates: {ContainerRestartRules: 'off'}\n",
            'featureGates[ContainerRestartRules] is "off"; a kubelet decodes it as bool.',
            id="gate-in-words",
        ),
        pytest.param(
            HEAD + "crashLoopBackOff: 4s\n",
            'crashLoopBackOff is "4s"; a kubelet decodes it as CrashLoopBackOffConfig.',
            id="maximum-one-level-up",
        ),
    ],
)
def test_a_file_that_is_no_kubelet_configuration_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    path = profile_file(tmp_path, text)
    assert message_of(path) == f'kubelet profile "own": {fault}\nSeen in {path}.'


def test_a_file_that_is_not_yaml_is_refused(tmp_path: Path) -> None:
    assert message_of(profile_file(tmp_path, "a: [")).startswith('kubelet profile "own": it is neither JSON nor YAML: ')


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            "crashloopbackoff: {maxContainerRestartPeriod: 4s}",
            "'crashloopbackoff' is no field that the kubelet knows; expected crashLoopBackOff.",
            id="lower-case-field",
        ),
        pytest.param(
            "crashLoopBackOff: {maxSeconds: 4}",
            "crashLoopBackOff has no field 'maxSeconds'; expected maxContainerRestartPeriod.",
            id="field-of-an-early-draft",
        ),
        pytest.param(
            "featureGates: {KubeletCrashloopBackOffMax: true}",
            "'KubeletCrashloopBackOffMax' is no feature gate that the kubelet knows; expected KubeletCrashLoopBackOffMax.",
            id="misspelt-gate",
        ),
    ],
)
def test_what_the_kubelet_would_drop_is_refused_for_a_node(tmp_path: Path, text: str, fault: str) -> None:
    own = load_profile(profile_file(tmp_path, f"{HEAD}{text}\n"))
    with pytest.raises(UsageError) as caught:
        validate_for_node(own, NEWEST)
    assert str(caught.value) == f'kubelet profile "own": {fault}'


def test_the_profiles_lie_where_people_look_for_them() -> None:
    assert sorted(path.stem for path in KUBELET_MANIFESTS.iterdir()) == sorted(PROFILES)


def maximum(period: str) -> str:
    return f"{HEAD}crashLoopBackOff: {{maxContainerRestartPeriod: {period}}}\n"


def test_further_documents_are_drop_in_files_of_which_the_last_counts(tmp_path: Path) -> None:
    profile = load_profile(profile_file(tmp_path, "---\n".join((maximum("60s"), maximum("4s"), maximum("20s")))))
    assert profile.config == {"crashLoopBackOff": {"maxContainerRestartPeriod": "60s"}}
    assert [each["crashLoopBackOff"]["maxContainerRestartPeriod"] for each in profile.drop_ins] == ["4s", "20s"]
    assert effective_curve(profile, NEWEST) == Curve(10, 20)


def test_a_drop_in_file_leaves_what_it_does_not_name(tmp_path: Path) -> None:
    gate = f"{HEAD}featureGates: {{KubeletCrashLoopBackOffMax: true}}\n"
    profile = load_profile(profile_file(tmp_path, f"{gate}---\n{maximum('2s')}"))
    assert profile.merged == {
        "featureGates": {"KubeletCrashLoopBackOffMax": True},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
    }


def test_gates_in_a_drop_in_file_are_refused(tmp_path: Path) -> None:
    path = profile_file(tmp_path, f"{HEAD}---\n{HEAD}featureGates: {{KubeletCrashLoopBackOffMax: false}}\n")
    assert message_of(path) == (
        'kubelet profile "own": a drop-in file sets featureGates, which the model does not follow; '
        f"set them in the first document.\nSeen in {path}."
    )
