"""A user's file for `kind`: read by kind's rules, and merged under the nodes of a run. Pure, but for the reading of the file.

A run decides how many nodes there are, their names, kubelets and pod network; everything else of the file stands. What a file has
and a run cannot keep is refused, or `left_out` says so.
Source: pkg/internal/apis/config/encoding/load.go, validate.go and pkg/apis/config/v1alpha4 of sigs.k8s.io/kind@v0.33.0.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from ipaddress import IPv4Network, ip_address, ip_network
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from crashloop.errors import UsageError
from crashloop.words import in_words
from crashloop.yaml_text import Unreadable, block_yaml, documents, text_of

API_VERSION = "kind.x-k8s.io/v1alpha4"
POD_SUBNET = "10.244.0.0/16"
"""kind's own default."""
NODE_BITS = 24
OWN_PATHS = ("/crashloop", "/etc/cni/net.d", "/usr/bin/kubelet", "/kind/manifests/default-storage.yaml")
"""What a run mounts into nodes."""
OF_PROFILES = ("crashLoopBackOff", "featureGates")
"""Fields of a KubeletConfiguration that a run judges by."""
INSTEAD = (
    "`kind create cluster --config {path}` makes that cluster; "
    "`crashloop run --provider existing --read-configz` judges it."
)

Port = Annotated[int, msgspec.Meta(ge=-1, le=65535)]


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A mapping of the file; only what was given is written again."""


class JsonPatch(_Part, frozen=True):
    group: str
    version: str
    kind: str
    patch: str


class Mount(_Part, frozen=True):
    container_path: str = ""
    host_path: str = ""
    read_only: bool = False
    selinux_relabel: bool = False
    propagation: Literal["", "None", "HostToContainer", "Bidirectional"] = ""


class PortMapping(_Part, frozen=True):
    container_port: Port = 0
    host_port: Port = 0
    listen_address: str = ""
    protocol: str = ""


class KindNode(_Part, frozen=True):
    role: Literal["control-plane", "worker", ""] = ""
    image: str = ""
    labels: dict[str, str] = {}
    extra_mounts: tuple[Mount, ...] = ()
    extra_port_mappings: tuple[PortMapping, ...] = ()
    kubeadm_config_patches: tuple[str, ...] = ()
    kubeadm_config_patches_json6902: tuple[JsonPatch, ...] = msgspec.field(
        default=(), name="kubeadmConfigPatchesJSON6902"
    )

    @property
    def is_worker(self) -> bool:
        return self.role == "worker"


class Networking(_Part, frozen=True):
    ip_family: Literal["", "ipv4", "ipv6", "dual"] = ""
    api_server_port: Port = 0
    api_server_address: str = ""
    pod_subnet: str = ""
    service_subnet: str = ""
    disable_default_cni: bool = msgspec.field(default=False, name="disableDefaultCNI")
    kube_proxy_mode: Literal["", "iptables", "ipvs", "nftables", "none"] = ""
    dns_search: tuple[str, ...] | None = None


class KindFile(_Part, frozen=True):
    """kind.x-k8s.io/v1alpha4, as it was given."""

    kind: str = ""
    api_version: str = ""
    name: str = ""
    nodes: tuple[KindNode, ...] = ()
    networking: Networking = Networking()
    feature_gates: dict[str, bool] = {}
    runtime_config: dict[str, str] = {}
    kubeadm_config_patches: tuple[str, ...] = ()
    kubeadm_config_patches_json6902: tuple[JsonPatch, ...] = msgspec.field(
        default=(), name="kubeadmConfigPatchesJSON6902"
    )
    containerd_config_patches: tuple[str, ...] = ()
    containerd_config_patches_json6902: tuple[str, ...] = msgspec.field(
        default=(), name="containerdConfigPatchesJSON6902"
    )

    @property
    def node_image(self) -> str | None:
        """The image of its nodes; None if it names none."""
        return next((each.image for each in self.nodes if each.image), None)

    def gates_beside(self, given: Iterable[str]) -> list[str]:
        """NAME=BOOL of what an option gives and of the file's, which kind gives to the control plane and to kubelets."""
        names = {each.partition("=")[0] for each in given}
        return [*given, *(f"{name}={str(on).lower()}" for name, on in self.feature_gates.items() if name not in names)]

    @property
    def has_containerd_patches(self) -> bool:
        return bool(self.containerd_config_patches or self.containerd_config_patches_json6902)

    def pods_of(self, index: int) -> str:
        """The range of a node's pods: of the control plane for 0, and of the worker of that number."""
        return str(next(islice(self._pod_range().subnets(new_prefix=NODE_BITS), index, None)))

    def under(self, config: dict[str, Any]) -> dict[str, Any]:
        """The file with kind's configuration of a run on top: the first of its nodes is the control plane's."""
        plain = _plain(self)
        head, *workers = config["nodes"]
        nodes = [
            _under(head, self._control_plane),
            *(self._worker(each, number) for number, each in enumerate(workers)),
        ]
        joined = {
            "kubeadmConfigPatches": [
                *self.kubeadm_config_patches,
                *(_with_their_arguments(each, self.kubeadm_config_patches) for each in config["kubeadmConfigPatches"]),
            ],
            "networking": plain.get("networking", {}) | config["networking"],
            "nodes": nodes,
        }
        # Gates come as arguments of the control plane and as configuration of kubelets.
        return {key: value for key, value in plain.items() if key != "featureGates"} | config | joined

    def left_out(self, workers: int) -> Iterator[str]:
        """What a run of so many nodes does without."""
        if self.name:
            yield f"name {self.name}"
        if self.networking.kube_proxy_mode not in ("", "none"):
            yield f"networking.kubeProxyMode {self.networking.kube_proxy_mode}: no kube-proxy runs"
        if not self.networking.disable_default_cni:
            yield "kindnet: pods have crashloop's own network"
        if len(self._workers) > workers:
            yield f"{len(self._workers) - workers} of {len(self._workers)} workers: the run has {workers}"

    @property
    def _control_plane(self) -> KindNode:
        return next((each for each in self.nodes if not each.is_worker), KindNode())

    @property
    def _workers(self) -> tuple[KindNode, ...]:
        return tuple(each for each in self.nodes if each.is_worker)

    def _worker(self, node: dict[str, Any], number: int) -> dict[str, Any]:
        """Workers of a run take those of the file in turn; ports of the host have one owner. Where the file has one node for
        all, each has its mounts and labels."""
        if self._workers:
            like = self._workers[number % len(self._workers)]
            if number < len(self._workers):
                return _under(node, like)
            return _under(node, msgspec.structs.replace(like, extra_port_mappings=()))
        only = self._control_plane
        return _under(node, KindNode(labels=only.labels, extra_mounts=only.extra_mounts))

    def _pod_range(self) -> IPv4Network:
        for text in (self.networking.pod_subnet or POD_SUBNET).split(","):
            found = ip_network(text, strict=False)
            if isinstance(found, IPv4Network):
                return found
        raise ValueError("no range of IPv4")


def _plain(part: _Part) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(part)
    return plain


def _under(node: dict[str, Any], theirs: KindNode) -> dict[str, Any]:
    plain = _plain(theirs)
    joined = {key: [*plain.get(key, []), *node[key]] for key in ("extraMounts", "kubeadmConfigPatches")}
    return plain | node | joined | {"labels": theirs.labels | node["labels"]}


def _with_their_arguments(patch: str, theirs: Iterable[str]) -> str:
    """A patch of the run with the arguments that patches of the file give to the same components: a list replaces a list."""
    ours = documents(patch)[0]
    for other in [each for text in theirs for each in documents(text) if each.get("kind") == ours["kind"]]:
        for name, part in ours.items():
            mine, more = _arguments(part, name), _arguments(other.get(name), name)
            if isinstance(mine, list) and isinstance(more, list):
                names = {each["name"] for each in mine}
                mine[:0] = [each for each in more if isinstance(each, dict) and each.get("name") not in names]
    return patch if ours == documents(patch)[0] else block_yaml(ours)


def _arguments(part: Any, name: str) -> Any:
    part = part.get("local") if isinstance(part, dict) and name == "etcd" else part
    return part.get("extraArgs") if isinstance(part, dict) else None


def read_kind_file(path: str) -> KindFile:
    """The file of --kind-config. Raises UsageError for what kind refuses, and for what no run can keep."""
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise Unreadable("it is no regular file, and it is read more than once")
        text = text_of(path)
        read = documents(text, is_strict=True)
    except Unreadable as error:
        raise UsageError(f"--kind-config {path}: {error}.") from error
    first = read[0] if read else None  # kind reads no other document
    found = first if isinstance(first, dict) else {}
    if (found.get("apiVersion"), found.get("kind")) != (API_VERSION, "Cluster"):
        kind = " of ".join(str(found[each]) for each in ("kind", "apiVersion") if each in found)
        has = f"is {kind or 'an object without a kind'}" if found else "is no mapping"
        raise UsageError(f"--kind-config {path}: it {has}; expected Cluster of {API_VERSION}.")
    try:
        file = msgspec.convert(_as_kind_decodes(found), KindFile)
    except msgspec.ValidationError as error:
        raise UsageError(f"--kind-config {path}: {_in_words(error)}.") from error
    for fault in _faults(file):
        raise UsageError(f"--kind-config {path}: {fault}.\n{INSTEAD.format(path=path)}")
    return file


def _as_kind_decodes(value: Any, place: str = "") -> Any:
    """Without nulls, which leave a field as it is; scalars where text belongs are that text."""
    if isinstance(value, dict):
        texts = place in ("runtimeConfig", "labels")
        return {
            key: _text(each)
            if texts
            else each.upper()
            if key == "protocol" and isinstance(each, str)
            else _as_kind_decodes(each, key)
            for key, each in value.items()
            if each is not None
        }
    return [_as_kind_decodes(each, place) for each in value] if isinstance(value, list) else value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


_FIELDS = sorted(
    {each for part in (KindFile, KindNode, Networking, Mount, PortMapping) for each in part.__struct_encode_fields__}
)


def _in_words(error: msgspec.ValidationError) -> str:
    text, _, place = str(error).partition(" - at `$")
    where = place.rstrip("`").lstrip(".").replace("[...]", "")
    unknown = re.search(r"unknown field `(.*)`", text)
    if unknown is None:
        return in_words(error) if where else f"the file: {in_words(error)}"
    near = get_close_matches(unknown[1], _FIELDS, 1)
    meant = f"; did you mean {near[0]}" if near and near[0] != unknown[1] else "; it belongs elsewhere" if near else ""
    return f"{where}{'.' if where else ''}{unknown[1]} is no field of kind{meant}"


def _faults(file: KindFile) -> Iterator[str]:
    """What stands in the way, the worst first."""
    heads = [each for each in file.nodes if not each.is_worker]
    if file.nodes and not heads:
        yield "it has no node with the role control-plane, and kind needs one"
    if len(heads) > 1:
        yield f"its control plane has {len(heads)} nodes, and a run has one"
    images = sorted({each.image for each in file.nodes if each.image})
    if len(images) > 1:
        yield f"its nodes have different images ({', '.join(images)}), and the nodes of a run have one"
    yield from _network_faults(file)
    for number, node in enumerate(file.nodes):
        for mount in node.extra_mounts:
            if not mount.container_path.startswith("/") or not mount.host_path:
                yield f"nodes[{number}].extraMounts: a mount needs a hostPath and an absolute containerPath"
            taken = next((each for each in OWN_PATHS if _overlap(each, mount.container_path)), None)
            if taken is not None:
                yield f"nodes[{number}].extraMounts: a run has its own files at {taken}"
        yield from (f"nodes[{number}].extraPortMappings: {each}" for each in _port_faults(node.extra_port_mappings))
        yield from (f"nodes[{number}].{each}" for each in _patch_faults(node.kubeadm_config_patches))
    yield from _patch_faults(file.kubeadm_config_patches)
    for patch in file.kubeadm_config_patches_json6902 + sum(
        (each.kubeadm_config_patches_json6902 for each in file.nodes), ()
    ):
        if patch.kind == "KubeletConfiguration" and any(f"/{each}" in patch.patch for each in OF_PROFILES):
            yield "kubeadmConfigPatchesJSON6902: it sets what kubelet profiles set; say it with --profile or --kubelet-gate"
    for number, text in enumerate(file.containerd_config_patches):
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            yield f"containerdConfigPatches[{number}]: it is no TOML ({error})"


def _overlap(one: str, other: str) -> bool:
    here, there = Path(one).parts, Path(other).parts
    shorter = min(len(here), len(there))
    return here[:shorter] == there[:shorter] and other != "/"


def _network_faults(file: KindFile) -> Iterator[str]:
    network = file.networking
    if network.ip_family == "ipv6":
        yield "networking.ipFamily ipv6: pods of a run have IPv4 addresses"
    for name, text in {"podSubnet": network.pod_subnet, "serviceSubnet": network.service_subnet}.items():
        try:
            ranges = [ip_network(each, strict=False) for each in text.split(",") if text]
        except ValueError as error:
            yield f"networking.{name}: {error}"
            continue
        if text and network.ip_family != "dual" and (len(ranges) > 1 or ranges[0].version != 4):
            yield f"networking.{name} {text}: expected one range of IPv4"
        if len(ranges) > 2 or (len(ranges) == 2 and ranges[0].version == ranges[1].version):
            yield f"networking.{name} {text}: expected at most one range of IPv4 and one of IPv6"
    if network.api_server_address:
        try:
            ip_address(network.api_server_address)
        except ValueError as error:
            yield f"networking.apiServerAddress: {error}"
    try:
        subnets = file._pod_range()  # of this module
    except ValueError as error:
        yield f"networking.podSubnet {network.pod_subnet}: {error}"
        return
    if subnets.prefixlen > NODE_BITS - 5:
        yield f"networking.podSubnet {subnets}: expected /{NODE_BITS - 5} or more, a /{NODE_BITS} for each of 30 nodes"


def _port_faults(mappings: Iterable[PortMapping]) -> Iterator[str]:
    """Source: validatePortMappings in validate.go."""
    taken: dict[tuple[int, str], set[str]] = {}
    for each in mappings:
        if each.protocol not in ("", "TCP", "UDP", "SCTP"):
            yield f"protocol {each.protocol}: expected TCP, UDP or SCTP"
        try:
            address = str(ip_address(each.listen_address or "0.0.0.0"))  # kind's own default
        except ValueError as error:
            yield f"listenAddress: {error}"
            continue
        if each.host_port in (-1, 0):
            continue
        address = "any" if address in ("::", "0.0.0.0") else address  # compared, not bound
        at = taken.setdefault((each.host_port, each.protocol or "TCP"), set())
        if address in at or "any" in at or (at and address == "any"):
            yield f"port {each.host_port} of the host is mapped twice"
        at.add(address)


def _patch_faults(patches: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(patches):
        where = f"kubeadmConfigPatches[{number}]"
        try:
            found = documents(text)
        except Unreadable as error:
            yield f"{where}: {error}"
            continue
        for each in found:
            if not isinstance(each, dict) or not each.get("kind"):
                yield f"{where}: expected a mapping with a kind"
            elif each["kind"] == "KubeletConfiguration" and (own := [field for field in OF_PROFILES if field in each]):
                yield f"{where}: {own[0]} is set by kubelet profiles; say it with --profile or --kubelet-gate"
