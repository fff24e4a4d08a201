"""What an API server asks of single fields of a PodSpec, by the Go structs that have them: what is needed, and which values.

Theory of operation. One walk through a spec whose fields have the right types finds the struct of each mapping, and looks its
rules up. What depends on two places of a pod is for `crashloop.stress.pod_faults`.
Source: pkg/apis/core/validation/validation.go@v1.37.2.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_address
from itertools import chain
from typing import Any, NamedTuple

from crashloop.model.gates import kubelet_api
from crashloop.spec.pod import LABEL, LABEL_KEY, LABEL_VALUE
from crashloop.stress.pod_resources import amount_of, invalid_divisor

Json = Mapping[str, Any]


def _by_field(text: str) -> dict[str, tuple[str, ...]]:
    """`Struct: field field` per line."""
    lines = (line.partition(":") for line in text.strip().splitlines())
    return {struct.strip(): tuple(fields.split()) for struct, _, fields in lines}


NEEDED = _by_field("""
    AWSElasticBlockStoreVolumeSource: volumeID
    AzureDiskVolumeSource: diskName diskURI
    AzureFileVolumeSource: secretName shareName
    CSIVolumeSource: driver
    CSIVolumeSource.nodePublishSecretRef: name
    CephFSVolumeSource: monitors
    CinderVolumeSource: volumeID
    ClusterTrustBundleProjection: path
    ConfigMapEnvSource: name
    ConfigMapKeySelector: name key
    ConfigMapProjection: name
    ConfigMapVolumeSource: name
    ContainerResizePolicy: resourceName restartPolicy
    DownwardAPIVolumeFile: path
    DownwardAPIVolumeFile.resourceFieldRef: containerName
    EnvVar: name
    EphemeralVolumeSource: volumeClaimTemplate
    FileKeySelector: volumeName path key
    FlexVolumeSource: driver
    GCEPersistentDiskVolumeSource: pdName
    GitRepoVolumeSource: repository
    GlusterfsVolumeSource: endpoints path
    HTTPHeader: name
    HostAlias: ip
    HostPathVolumeSource: path
    ISCSIVolumeSource: targetPortal iqn
    ImageVolumeSource: reference
    KeyToPath: key path
    NFSVolumeSource: server path
    ObjectFieldSelector: fieldPath
    PersistentVolumeClaimSpec: accessModes resources
    PersistentVolumeClaimSpec.resources: requests
    PersistentVolumeClaimVolumeSource: claimName
    PodDNSConfigOption: name
    PodOS: name
    PodReadinessGate: conditionType
    PortworxVolumeSource: volumeID
    QuobyteVolumeSource: registry volume
    RBDVolumeSource: monitors image
    ResourceFieldSelector: resource
    AppArmorProfile: type
    ScaleIOVolumeSource: gateway system volumeName
    SeccompProfile: type
    SecretEnvSource: name
    SecretKeySelector: name key
    SecretProjection: name
    SecretVolumeSource: secretName
    StorageOSVolumeSource: volumeName
    StorageOSVolumeSource.secretRef: name
    Sysctl: name
    ServiceAccountTokenProjection: path
    TopologySpreadConstraint: maxSkew topologyKey whenUnsatisfiable
    Volume: name
    VolumeDevice: name devicePath
    VolumeResourceRequirements.requests: storage
    VsphereVirtualDiskVolumeSource: volumePath
""")
"""Neither missing nor empty, also of a struct in one field of another (`Struct.field: field`)."""
ONE_OF = _by_field("""
    EnvVarSource: configMapKeyRef fieldRef fileKeyRef resourceFieldRef secretKeyRef
    EnvFromSource: configMapRef secretRef
    ClusterTrustBundleProjection: name signerName
    DownwardAPIVolumeFile: fieldRef resourceFieldRef
    FCVolumeSource: targetWWNs wwids
    PodResourceClaim: resourceClaimName resourceClaimTemplateName
""")
AT_MOST_ONE = _by_field("""
    VolumeMount: subPath subPathExpr
    VolumeProjection: clusterTrustBundle configMap downwardAPI podCertificate secret serviceAccountToken
""")
_SECURITY_TYPES = "Localhost RuntimeDefault Unconfined"
CHOICES = _by_field(f"""
    AppArmorProfile.type: {_SECURITY_TYPES}
    Container.imagePullPolicy: Always IfNotPresent Never
    Container.terminationMessagePolicy: FallbackToLogsOnError File
    ContainerPort.protocol: TCP UDP SCTP
    ContainerResizePolicy.resourceName: cpu memory
    ContainerResizePolicy.restartPolicy: NotRequired RestartContainer
    HTTPGetAction.scheme: HTTP HTTPS
    HostPathVolumeSource.type: BlockDevice CharDevice Directory DirectoryOrCreate File FileOrCreate Socket
    ImageVolumeSource.pullPolicy: Always IfNotPresent Never
    ObjectFieldSelector.apiVersion: v1
    PersistentVolumeClaimSpec.accessModes: ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod
    PodSecurityContext.fsGroupChangePolicy: Always OnRootMismatch
    PodSecurityContext.seLinuxChangePolicy: MountOption Recursive
    PodSecurityContext.supplementalGroupsPolicy: Merge Strict
    PodSpec.dnsPolicy: ClusterFirst ClusterFirstWithHostNet Default None
    PodSpec.preemptionPolicy: Never PreemptLowerPriority
    SeccompProfile.type: {_SECURITY_TYPES}
    SecurityContext.procMount: Default Unmasked
    Toleration.effect: NoSchedule PreferNoSchedule NoExecute
    TopologySpreadConstraint.nodeAffinityPolicy: Honor Ignore
    TopologySpreadConstraint.nodeTaintsPolicy: Honor Ignore
    TopologySpreadConstraint.whenUnsatisfiable: DoNotSchedule ScheduleAnyway
    VolumeMount.mountPropagation: Bidirectional HostToContainer None
    VolumeMount.recursiveReadOnly: Disabled Enabled IfPossible
""")
_IDS = (0, 2**31 - 1)
_PORTS = (0, 65_535)
_MODES = (0, 0o777)
RANGES: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("PodSecurityContext.fsGroup", "PodSecurityContext.supplementalGroups"), _IDS),
    **dict.fromkeys(("PodSecurityContext.runAsUser", "PodSecurityContext.runAsGroup"), _IDS),
    **dict.fromkeys(("SecurityContext.runAsUser", "SecurityContext.runAsGroup"), _IDS),
    "ContainerPort.hostPort": _PORTS,
    "GRPCAction.port": (1, _PORTS[1]),
    "DownwardAPIVolumeFile.mode": _MODES,
    "ISCSIVolumeSource.lun": (0, 255),
    "KeyToPath.mode": _MODES,
    "ServiceAccountTokenProjection.expirationSeconds": (600, 2**32),
    "TopologySpreadConstraint.maxSkew": (1, 2**31 - 1),
    "TopologySpreadConstraint.minDomains": (1, 2**31 - 1),
}


class Name(NamedTuple):
    """A form of texts, and what is said of one that does not have it."""

    form: re.Pattern[str]
    said: str


_SUBDOMAIN = Name(
    re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"),
    "lower-case letters, digits, dashes and dots are valid",
)
_LABEL = Name(LABEL, "1 to 63 lower-case letters, digits and dashes are valid")
_QUALIFIED = Name(LABEL_KEY, "up to 63 letters, digits, -, _ and dots are valid, after a domain and a slash or alone")
_KEY = Name(re.compile(r"[-._a-zA-Z0-9]{1,253}"), "letters, digits, -, _ and dots are valid")
_INSIDE = Name(re.compile(r"(?!/)(?!(.*/)?\.\.(/|$)).*", re.DOTALL), "a relative path without .. is valid")
_VARIABLE = Name(re.compile(r"[ -<>-~]+"), "printable ASCII without = is valid")
_SIGNALS = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN "
    r"TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN(\+([1-9]|1[0-5]))? RTMAX(-([1-9]|1[0-4]))?"
)
NAMES: Mapping[str, Name] = {
    **dict.fromkeys(("PodSpec.hostname", "PodSpec.subdomain", "PodResourceClaim.name", "Volume.name"), _LABEL),
    **dict.fromkeys(("ConfigMapKeySelector.name", "SecretKeySelector.name", "PodSpec.serviceAccountName"), _SUBDOMAIN),
    **dict.fromkeys(
        ("PodSpec.priorityClassName", "PodSpec.runtimeClassName", "PodSpec.hostnameOverride", "HostAlias.hostnames"),
        _SUBDOMAIN,
    ),
    **dict.fromkeys(("ConfigMapEnvSource.name", "SecretEnvSource.name", "CSIVolumeSource.driver"), _SUBDOMAIN),
    **dict.fromkeys(("ConfigMapKeySelector.key", "SecretKeySelector.key"), _KEY),
    **dict.fromkeys(("KeyToPath.path", "DownwardAPIVolumeFile.path", "ServiceAccountTokenProjection.path"), _INSIDE),
    "SeccompProfile.localhostProfile": _INSIDE,
    "AppArmorProfile.localhostProfile": Name(
        re.compile(r"\S(.*\S)?", re.DOTALL), "a name without spaces around it is valid"
    ),
    "DownwardAPIVolumeFile.fieldRef.fieldPath": Name(
        re.compile(r"metadata\.(name|namespace|uid|(labels|annotations)(\['[^' ]+'\])?)"),
        "name, namespace, uid, labels and annotations of metadata are valid in a volume",
    ),
    **dict.fromkeys(("EnvVar.name", "EnvFromSource.prefix"), _VARIABLE),
    **dict.fromkeys(("PodReadinessGate.conditionType", "Toleration.key"), _QUALIFIED),
    "Toleration.value": Name(LABEL_VALUE, "up to 63 letters, digits, -, _ and dots are valid"),
    "HTTPHeader.name": Name(re.compile("[-A-Za-z0-9]+"), "letters, digits and dashes are valid"),
    "PodDNSConfig.searches": Name(
        re.compile(rf"{_SUBDOMAIN.form.pattern.replace('a-z0-9', 'a-z0-9_')}\.?|\."), _SUBDOMAIN.said
    ),
    **dict.fromkeys(
        ("HostPathVolumeSource.path", "VolumeDevice.devicePath"),
        Name(re.compile(r"(?!(.*/)?\.\.(/|$)).*"), "a path without .. is valid"),
    ),
    "ISCSIVolumeSource.iqn": Name(re.compile(r"(iqn|eui|naa)\..+"), "names that begin with iqn, eui or naa are valid"),
    "NFSVolumeSource.path": Name(re.compile("/.*"), "an absolute path is valid"),
    "ContainerPort.name": Name(
        re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?"),
        "up to 15 lower-case letters, digits and dashes are valid",
    ),
    "Sysctl.name": Name(
        re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"), "names of sysctls are valid"
    ),
    "Lifecycle.stopSignal": Name(
        re.compile(f"SIG({'|'.join(_SIGNALS.split())})"), "SIGTERM, SIGRTMIN+3 and the like are valid"
    ),
    "ResourceFieldSelector.resource": Name(
        re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)"),
        "limits. and requests. of cpu, memory and ephemeral-storage are valid",
    ),
}
"""Empty texts are for NEEDED; `Struct.field.field` is a field of a struct in one field of another."""
ADDRESSES = frozenset({"HostAlias.ip", "PodDNSConfig.nameservers"})
UNIQUE = _by_field("""
    Container.ports: name
    Container.resizePolicy: resourceName
    Container.volumeDevices: name
    Container.volumeMounts: mountPath
    PodSecurityContext.sysctls: name
    PodSpec.resourceClaims: name
    PodSpec.topologySpreadConstraints: topologyKey whenUnsatisfiable
    PodSpec.volumes: name
    ResourceRequirements.claims: name request
""")
"""Lists, and what no two of their items may have alike."""


def broken_rules(spec: Json) -> Iterator[str]:
    """A sentence without its full stop per fault, each with its path; what a run replaces is left out."""
    yield from _of_struct(spec, "PodSpec", "spec", kubelet_api().fields_of_a_pod())


def _of_struct(given: Json, struct: str, path: str, structs: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield from (
        f"{path}.{field} is missing" for field in NEEDED.get(struct, ()) if given.get(field) in (None, "", [], {})
    )
    for several, least in ((ONE_OF, 1), (AT_MOST_ONE, 0)):
        found = [field for field in several.get(struct, ()) if given.get(field) not in (None, "")]
        if struct in several and not least <= len(found) <= 1:
            has = (
                f"has {', '.join(found)}; one of them is valid"
                if found
                else f"has to have one of {', '.join(several[struct])}"
            )
            yield f"{path} {has}"
    for field, value in given.items():
        rule, place, go = f"{struct}.{field}", f"{path}.{field}", structs[struct].get(field, "")
        items = value if isinstance(value, list) else [value]
        places = [f"{place}[{number}]" for number in range(len(items))] if isinstance(value, list) else [place]
        yield from chain.from_iterable(_of_value(each, rule, where) for each, where in zip(items, places, strict=True))
        if rule in UNIQUE:
            yield from _twice(items, UNIQUE[rule], place)
        inner = go.removeprefix("[]")
        for each, where in zip(items, places, strict=True):
            if inner == "ResourceFieldSelector" and isinstance(each, Mapping):
                yield from invalid_divisor(each, where)
            if inner in structs and isinstance(each, Mapping):
                yield from _of_struct(each, inner, where, structs)


def _of_value(value: Any, rule: str, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (
            f"{path}.{field} is missing" for field in NEEDED.get(rule, ()) if value.get(field) in (None, "", {})
        )
        if rule.startswith("VolumeResourceRequirements."):
            yield from (
                f"{path}.{name} is {each!r}, which is no quantity"
                for name, each in value.items()
                if not amount_of(each)
            )
        yield from chain.from_iterable(
            _of_value(each, f"{rule}.{field}", f"{path}.{field}")
            for field, each in value.items()
            if isinstance(each, str)
        )
    least, most = _MODES if rule.endswith(".defaultMode") else RANGES.get(rule, (None, None))
    if isinstance(value, int) and least is not None and most is not None and not least <= value <= most:
        valid = "0777, that is 511," if most == _MODES[1] else most
        yield f"{path} is {value}; {least} to {valid} is valid"
    if not isinstance(value, str) or not value:
        return
    if rule in CHOICES and value not in CHOICES[rule]:
        yield f"{path} is {value!r}; valid are {', '.join(CHOICES[rule])}"
    if rule in NAMES and not NAMES[rule].form.fullmatch(value):
        yield f"{path} is {value!r}; {NAMES[rule].said}"
    if rule in ADDRESSES and not _is_address(value):
        yield f"{path} is {value!r}, which is no IP address"


def _is_address(text: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(text))
    return False


def _twice(items: list[Any], keys: tuple[str, ...], path: str) -> Iterator[str]:
    seen: set[Any] = set()
    for number, each in enumerate(items):
        had = tuple((each or {}).get(key) for key in keys)
        if had[0] and had in seen:
            yield f"{path}[{number}].{keys[0]} is {had[0]!r} twice"
        seen.add(had)


def invalid_annotations(annotations: Mapping[str, str]) -> Iterator[str]:
    """A sentence without its full stop per key that no annotation has."""
    for key in annotations:
        if not LABEL_KEY.fullmatch(key.lower()):
            yield f"metadata.annotations has the key {key!r}, which is none"


def invalid_labels(labels: Mapping[str, str]) -> Iterator[str]:
    """A sentence without its full stop per label that no object can have."""
    for key, value in labels.items():
        if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
            yield f"metadata.labels has {key!r}: {value!r}, which is no label: up to 63 letters, digits, -, _ and dots"


OF_CLASSES = {"": 0, "system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The priorities of classes that every cluster has; other classes have up to 1,000,000,000."""
MOST_PRIORITY = 1_000_000_000


def is_of_system(priority_class: str) -> bool:
    """By its name, which no other class can have."""
    return priority_class.startswith("system-")


def invalid_class(given: Json) -> Iterator[str]:
    """A sentence without its full stop per fault of a PriorityClass (pkg/apis/scheduling/validation@v1.37.2)."""
    about, value, policy = given.get("metadata"), given.get("value") or 0, given.get("preemptionPolicy")
    name = str(about.get("name")) if isinstance(about, Mapping) else ""
    yield from _of_value(name, "PodSpec.priorityClassName", "metadata.name")
    if type(value) is not int or given.get("value") is False or (value > MOST_PRIORITY and not is_of_system(name)):
        yield f"value is {value!r}; a whole number up to {MOST_PRIORITY} is valid"
    if is_of_system(name) and value != OF_CLASSES.get(name):
        yield f"metadata.name is {name!r}; names that begin with system- are Kubernetes' own"
    yield from _of_value(policy if policy != "" else "empty", "PodSpec.preemptionPolicy", "preemptionPolicy")
