"""Kubelet profiles as files: manifests/kubelet/<name>.yaml, or a file of the user's own.

A file is upstream's own KubeletConfiguration, with its purpose in the comment at its top; further documents of YAML are files of
its drop-in directory, in their order. Loading checks only its form, so
that a configuration which the kubelet refuses can be a candidate. `validate_for_cluster` checks its content.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import Any

from crashloop.errors import UsageError
from crashloop.kubelet_files import Form, Found, Undecodable, configuration, configurations, form_of
from crashloop.model.config import Curve, Refusal, RefusalKind, effective_curve
from crashloop.model.gates import GATES, kubelet_version
from crashloop.model.variants import as_shipped
from crashloop.resources import MANIFESTS
from crashloop.spec.profile import (
    AT,
    ON,
    RUNTIMES,
    KubeletProfile,
    node_name,
    on_runtime,
    with_version,
)
from crashloop.spec.version import RELEASES, KubernetesVersion, check_skew, check_supported
from crashloop.yaml_text import Unreadable, text_of

KUBELET_MANIFESTS = MANIFESTS / "kubelet"

FIELDS = ("crashLoopBackOff", "featureGates")
"""Fields that decide about restarts. The kubelet drops a misspelt field silently."""
BACKOFF_FIELDS = ("maxContainerRestartPeriod",)


class RefusedFile(UsageError):
    """A file whose configuration no kubelet can decode."""


def load_profile(profile: str | Path) -> KubeletProfile:
    """The profile of that name in manifests/kubelet, or in the file or folder whose path is given.

    A folder is a kubelet's drop-in directory. A container runtime and a version of the kubelet can follow, if they are not the
    cluster's: `max-2s+containerd-1.7`, `max-2s@1.36.4`.
    Raises UsageError for a file that is missing or has no KubeletConfiguration in it, for what is no version, and for an
    unknown runtime.
    """
    return read_profile(profile)[0]


def read_profile(profile: str | Path) -> tuple[KubeletProfile, tuple[str, ...]]:
    """The same with what has to be said of the file: what was taken out of which object, and what a kubelet does not read."""
    unversioned, version = _file_and_version(profile)
    file, runtime = _file_and_runtime(unversioned)
    if (own := _own(file)) is None:
        path, text = read_manifest("kubelet profile", KUBELET_MANIFESTS, file)
        found = [Found(each) for each in _documents(path, text)]
    else:
        path, text, found = own
    config, *drop_ins = (_formed(path, each.config) for each in found)
    name = path.stem if runtime is None else on_runtime(path.stem, runtime)
    loaded = KubeletProfile(
        name=name if version is None else with_version(name, version),
        config=config,
        drop_ins=tuple(drop_ins),
        description=purpose(text),
        kubernetes_version=version,
        runtime=runtime,
    )
    if any("featureGates" in each for each in drop_ins):
        raise _wrong(
            path, "a drop-in file sets featureGates, which the model does not follow; set them in the first document."
        )
    return loaded, tuple(note for each in found for note in each.notes)


def _own(file: str | Path) -> tuple[Path, str, list[Found]] | None:
    """The user's own file or folder; None for a profile of manifests/kubelet."""
    path = Path("/dev/stdin" if file == "-" else file)
    is_named = isinstance(file, str) and file != "-" and "/" not in file and not file.endswith((".yaml", ".yml"))
    if is_named and ((KUBELET_MANIFESTS / f"{file}.yaml").exists() or not path.exists()):
        return None
    try:
        if path.is_dir():
            texts = {each.name: _text(each) for each in sorted(path.glob("*.conf"))}
            if not texts:
                raise _wrong(path, "the folder has no file *.conf, which a kubelet reads of its drop-in directory.")
            return path, "", [Found({}), *(Found(_drop_in(name, text)) for name, text in texts.items())]
        text = _text(path)
        read = configurations(text)
    except Undecodable as error:
        raise RefusedFile(str(_wrong(path, f"{error}."))) from error
    except ValueError as error:
        raise _wrong(path, f"{error}.") from error
    return path, text, read


def _drop_in(name: str, text: str) -> dict[str, Any]:
    try:
        return configuration(text).config
    except ValueError as error:
        raise type(error)(f"{name}: {error}") from error


def _text(path: Path) -> str:
    try:
        return text_of(path)
    except Unreadable as error:
        raise UsageError(f'kubelet profile "{path.stem}": {path} cannot be read ({error}).') from error


def _formed(path: Path, config: dict[str, Any]) -> dict[str, Any]:
    """The configuration, if its fields that decide about restarts have their form. Raises RefusedFile."""
    wrong = form_of({name: config[name] for name in FIELDS if name in config}, KubernetesVersion(*RELEASES[-1])).refused
    if wrong:
        raise RefusedFile(str(_wrong(path, f"{'; '.join(wrong)}.")))
    return config


def _file_and_version(profile: str | Path) -> tuple[str | Path, str | None]:
    """Both parts of `max-2s@1.36.4`. A path may have the sign in it."""
    file, at, version = str(profile).rpartition(AT)
    if not at or "/" in version or version.endswith((".yaml", ".yml")):
        return profile, None
    # One spelling for one profile, since scenarios name it.
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise UsageError(
            f'kubelet profile "{profile}": {version!r} is no version of a kubelet; expected {file}{AT}1.36.4 or the like.'
        )
    return file, version


def _file_and_runtime(profile: str | Path) -> tuple[str | Path, str | None]:
    """Both parts of `max-2s+containerd-1.7`. A path may have the sign in it."""
    file, on, runtime = str(profile).rpartition(ON)
    if not on or "/" in runtime or runtime.endswith((".yaml", ".yml")):
        return profile, None
    if runtime not in RUNTIMES:
        raise UsageError(
            f'kubelet profile "{profile}": {runtime!r} is no container runtime; expected {" or ".join(RUNTIMES)}.'
        )
    return file, runtime


def read_manifest(kind: str, folder: Path, file: str | Path, *, own: str = "a profile") -> tuple[Path, str]:
    """A manifest and its text: by its name in the folder, or by its path. Raises UsageError if it cannot be read.

    `kind` and `own`, which stands for what users may write themselves, are for the message.
    """
    named = isinstance(file, str) and "/" not in file and not file.endswith((".yaml", ".yml"))
    path = folder / f"{file}.yaml" if named else Path(file)
    try:
        return path, text_of(path)
    except Unreadable as error:
        subject = f'{kind} "{path.stem}"'
        if not named:
            raise UsageError(f"{subject}: {path} cannot be read ({error}).") from error
        known = ", ".join(sorted(each.stem for each in folder.glob("*.yaml")))
        raise UsageError(
            f"{subject}: unknown; expected one of {known}.\nGive the path of a file to use {own} of your own."
        ) from error


def purpose(text: str) -> str:
    """The comment at the top of a file, as one paragraph."""
    lines = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.lstrip("# ").rstrip() for line in lines)


def check_releases(profiles: Iterable[KubeletProfile], version: KubernetesVersion) -> None:
    """Check that a cluster of this version can be made with nodes of these profiles.

    Raises UsageError for a kubelet whose release this suite does not know or upstream does not support there, and for two
    profiles that give a node the same name.
    """
    named: dict[str, str] = {}
    for each in profiles:
        if each.kubernetes_version is not None:
            subject, kubelet = f'kubelet profile "{each.name}"', KubernetesVersion.parse(each.kubernetes_version)
            check_supported(subject, kubelet)
            check_skew(subject, "kubelet", kubelet, version)
        other = named.setdefault(node_name(each.name), each.name)
        if other != each.name:
            raise UsageError(
                f'kubelet profiles "{other}" and "{each.name}": their nodes would have one name, {node_name(each.name)}.\n'
                "Rename one of the files."
            )


def validate_for_cluster(profiles: Collection[KubeletProfile], version: KubernetesVersion) -> None:
    """Check that a cluster of this version can be made with nodes of these profiles, and that each of them can run.

    Raises UsageError as `check_releases` and `validate_for_node`.
    """
    check_releases(profiles, version)
    for each in profiles:
        validate_for_node(each, version)


def validate_for_node(profile: KubeletProfile, version: KubernetesVersion) -> None:
    """Check that a node can run with the profile, before anything is brought up. `version` is the cluster's.

    Raises UsageError if the kubelet of that version refuses the configuration, or would drop a misspelt part of it.
    """
    check_spelling(profile)
    kubelet = kubelet_version(profile, version)
    curve = what_a_kubelet_makes_of(profile, version)
    if isinstance(curve, Refusal):
        raise UsageError(
            f'kubelet profile "{profile.name}": kubelet v{kubelet} refuses to start with it: {curve.text}.\n'
            "Change the profile, or use it only as the candidate of a start-up scenario."
        )


def what_a_kubelet_makes_of(
    profile: KubeletProfile, version: KubernetesVersion, form: Form | None = None
) -> Curve | Refusal:
    """The curve of a node with that profile in a cluster of that version, or the refusal of its kubelet."""
    kubelet = kubelet_version(profile, version)
    refused = (form or form_of(profile.merged, kubelet)).refused
    if refused:
        return Refusal(kind=RefusalKind.FORM, text="; ".join(refused))
    return effective_curve(profile, version, deviations=as_shipped(kubelet))


def validate_refusal(profile: KubeletProfile, version: KubernetesVersion) -> None:
    """Check that a kubelet refuses the profile, as a scenario expects. Raises UsageError if it starts with it."""
    kubelet = kubelet_version(profile, version)
    if not isinstance(effective_curve(profile, version, deviations=as_shipped(kubelet)), Refusal):
        raise UsageError(
            f'kubelet profile "{profile.name}": kubelet v{kubelet} starts with it, and a scenario expects that it does not.\n'
            "Name a profile with an invalid maximum, such as max-301s."
        )


def check_spelling(profile: KubeletProfile) -> None:
    """Raise UsageError for a field or a feature gate that the kubelet would drop, and that looks like a known one."""
    misspelt = next(_misspelt(profile), None)
    if misspelt is not None:
        raise UsageError(f'kubelet profile "{profile.name}": {misspelt}')


def _documents(path: Path, text: str) -> list[dict[str, Any]]:
    """The documents of a manifest, without apiVersion and kind: the configuration, and its drop-in files."""
    try:
        return [each.config for each in configurations(text)]
    except ValueError as error:
        raise _wrong(path, f"{error}.") from error


def _misspelt(profile: KubeletProfile) -> Iterator[str]:
    yield from _near_misses("field", profile.merged, FIELDS)
    yield from _near_misses("feature gate", profile.feature_gates, GATES)
    for field in profile.merged.get("crashLoopBackOff") or {}:
        if field not in BACKOFF_FIELDS:
            yield f"crashLoopBackOff has no field {field!r}; expected {BACKOFF_FIELDS[0]}."


def _near_misses(what: str, names: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    spellings = tuple(known)
    lowered = {spelling.lower(): spelling for spelling in reversed(spellings)}
    for name in names:
        close = get_close_matches(name.lower(), lowered, n=1, cutoff=0.9)
        if close and name not in spellings:
            yield f"{name!r} is no {what} that the kubelet knows; expected {lowered[close[0]]}."


def _wrong(path: Path, fault: str) -> UsageError:
    return UsageError(f'kubelet profile "{path.stem}": {fault}\nSeen in {path}.')
