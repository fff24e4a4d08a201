"""`crashloop_curve`: the backoff curve that a kubelet follows."""

from collections.abc import Mapping

from crashloop.errors import UsageError
from crashloop.model.config import Curve, Refusal, effective_curve
from crashloop.model.gates import GATES, kubelet_version
from crashloop.model.variants import as_shipped
from crashloop.profiles import load_profile
from crashloop.settings import resolve_settings
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion


def due_curve(
    version: str | None = None,
    *,
    maximum: str | None = None,
    gates: Mapping[str, bool] | None = None,
    profile: str | None = None,
) -> Curve:
    """The curve of a kubelet of a version (default: the version that crashloop runs by default).

    The configuration is `maximum` (maxContainerRestartPeriod, such as 10s) and feature `gates`, or a kubelet profile (name
    or file). Known deviations of the release are part of it: it is what kubelets do. `curve.delay_s(n)` is the delay before
    restart n. Raises UsageError for a configuration with which the kubelet does not start.
    """
    for name, value in (("version", version), ("profile", profile)):
        if value is not None and not isinstance(value, str):
            raise UsageError(f"crashloop_curve: {name} is {value!r}; expected text, in quotes.")
    given = KubernetesVersion.parse(resolve_settings().versions.kubernetes if version is None else version)
    chosen = _profile(maximum, gates, profile)
    curve = effective_curve(chosen, given, deviations=as_shipped(kubelet_version(chosen, given)))
    if isinstance(curve, Refusal):
        raise UsageError(f"crashloop_curve: kubelet v{given} does not start with that configuration.\n{curve.text}")
    return curve


def _profile(maximum: str | None, gates: Mapping[str, bool] | None, profile: str | None) -> KubeletProfile:
    if profile is not None:
        if maximum is not None or gates is not None:
            raise UsageError(f"crashloop_curve: profile {profile!r} has its own maximum and gates.\nGive one of both.")
        return load_profile(profile)
    config: dict[str, object] = {}
    if maximum is not None:
        config["crashLoopBackOff"] = {"maxContainerRestartPeriod": maximum}
    if gates is not None and not (
        isinstance(gates, Mapping) and all(isinstance(each, bool) for each in gates.values())
    ):
        raise UsageError(
            f"crashloop_curve: gates is {gates!r}; expected True or False for each, as {{'{GATES[0]}': True}}."
        )
    unknown = sorted(set(gates or ()) - set(GATES))
    if unknown:
        raise UsageError(
            f"crashloop_curve: gate {unknown[0]!r} has no effect on restarts; expected one of {', '.join(GATES)}."
        )
    if gates is not None:
        config["featureGates"] = dict(gates)
    return KubeletProfile(name="given", config=config)
