"""Plan of the control plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler. Pure.

It runs in its own network namespace, so its ports cannot clash with the host's.
"""

from crashloop.cluster.local.credentials import CertificatePlan, kubeconfig
from crashloop.cluster.local.plan import (
    API_PORT,
    SERVICE_API_ADDRESS,
    SERVICE_RANGE,
    Blueprint,
    ClusterLayout,
    ControlPlanePlan,
    FilePlan,
    Network,
    ProcessPlan,
    Programs,
)
from crashloop.spec.control_plane import component_flags

HUB = "hub"
ADMIN = "admin"
_CONTROLLER_MANAGER = "kube-controller-manager"
_SCHEDULER = "kube-scheduler"
_ETCD_CLIENTS = "http://127.0.0.1:2379"
_ETCD_PEERS = "http://127.0.0.1:2380"


def control_plane_plan(blueprint: Blueprint) -> ControlPlanePlan:
    """The control plane of a cluster with TLS, the Node and RBAC authorizers and NodeRestriction."""
    layout, programs, network = blueprint.layout, blueprint.programs, blueprint.network
    gates = blueprint.feature_gates
    return ControlPlanePlan(
        network=network,
        folders=tuple(str(folder) for folder in layout.folders()),
        certificates=_certificates(layout, network),
        files=tuple(_client_kubeconfig(layout, network, name) for name in (_CONTROLLER_MANAGER, _SCHEDULER)),
        first=(_etcd(layout, programs, shortcuts=blueprint.shortcuts), _api_server(layout, programs, network, gates)),
        once_ready=(
            _controller_manager(layout, programs, gates, shortcuts=blueprint.shortcuts),
            _scheduler(layout, programs, gates),
        ),
    )


def _certificates(layout: ClusterLayout, network: Network) -> tuple[CertificatePlan, ...]:
    def certificate(name: str, common_name: str, *organizations: str) -> CertificatePlan:
        return CertificatePlan(
            certificate=str(layout.certificate(name)),
            key=str(layout.key(name)),
            common_name=common_name,
            organizations=organizations,
        )

    return (
        CertificatePlan(
            certificate=str(layout.certificate("kube-apiserver")),
            key=str(layout.key("kube-apiserver")),
            common_name="kube-apiserver",
            addresses=(network.hub, "127.0.0.1", SERVICE_API_ADDRESS),
            names=("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
        ),
        certificate("kubelet-client", "kube-apiserver-kubelet-client", "system:masters"),
        certificate(ADMIN, "crashloop-admin", "system:masters"),
        certificate(_CONTROLLER_MANAGER, "system:kube-controller-manager"),
        certificate(_SCHEDULER, "system:kube-scheduler"),
    )


def _client_kubeconfig(layout: ClusterLayout, network: Network, name: str) -> FilePlan:
    text = kubeconfig(
        cluster="crashloop",
        server=network.api_server,
        ca=str(layout.ca_certificate),
        certificate=str(layout.certificate(name)),
        key=str(layout.key(name)),
    )
    return FilePlan(path=str(layout.client_kubeconfig(name)), text=text)


def _etcd(layout: ClusterLayout, programs: Programs, *, shortcuts: bool) -> ProcessPlan:
    return _hub_process(
        layout,
        "etcd",
        programs.etcd,
        f"--data-dir={layout.etcd_data}",
        f"--listen-client-urls={_ETCD_CLIENTS}",
        f"--advertise-client-urls={_ETCD_CLIENTS}",
        f"--listen-peer-urls={_ETCD_PEERS}",
        f"--initial-advertise-peer-urls={_ETCD_PEERS}",
        f"--initial-cluster=default={_ETCD_PEERS}",
        # The only member waits one election timeout before it leads.
        "--heartbeat-interval=10",
        "--election-timeout=100",
        *(["--unsafe-no-fsync"] if shortcuts else []),
    )


def _api_server(layout: ClusterLayout, programs: Programs, network: Network, gates: dict[str, bool]) -> ProcessPlan:
    return _hub_process(
        layout,
        "kube-apiserver",
        programs.kube_apiserver,
        f"--etcd-servers={_ETCD_CLIENTS}",
        "--bind-address=0.0.0.0",
        f"--advertise-address={network.hub}",
        f"--secure-port={API_PORT}",
        f"--tls-cert-file={layout.certificate('kube-apiserver')}",
        f"--tls-private-key-file={layout.key('kube-apiserver')}",
        f"--client-ca-file={layout.ca_certificate}",
        f"--kubelet-certificate-authority={layout.ca_certificate}",
        f"--kubelet-client-certificate={layout.certificate('kubelet-client')}",
        f"--kubelet-client-key={layout.key('kubelet-client')}",
        # Node names resolve nowhere; without it logs, exec and the node proxy fail.
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-key-file={layout.service_account_key}",
        f"--service-account-signing-key-file={layout.service_account_key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        # Without it a pod that only sets `privileged: false` is refused.
        "--allow-privileged=true",
        *_gate_flags("kube-apiserver", gates),
    )


def _controller_manager(
    layout: ClusterLayout, programs: Programs, gates: dict[str, bool], *, shortcuts: bool
) -> ProcessPlan:
    return _hub_process(
        layout,
        _CONTROLLER_MANAGER,
        programs.kube_controller_manager,
        *_client_flags(layout, _CONTROLLER_MANAGER),
        f"--service-account-private-key-file={layout.service_account_key}",
        f"--root-ca-file={layout.ca_certificate}",
        "--use-service-account-credentials",
        # Two requests for each of some forty controllers: at the default of 20 a second a start takes 5 s.
        *(["--kube-api-qps=500", "--kube-api-burst=500"] if shortcuts else []),
        "--allocate-node-cidrs=false",
        # It makes this folder; the default is one of the host's.
        f"--flex-volume-plugin-dir={layout.root / 'volume-plugins'}",
        *_gate_flags(_CONTROLLER_MANAGER, gates),
    )


def _scheduler(layout: ClusterLayout, programs: Programs, gates: dict[str, bool]) -> ProcessPlan:
    return _hub_process(
        layout, _SCHEDULER, programs.kube_scheduler, *_client_flags(layout, _SCHEDULER), *_gate_flags(_SCHEDULER, gates)
    )


def _client_flags(layout: ClusterLayout, name: str) -> tuple[str, ...]:
    path = layout.client_kubeconfig(name)
    flags = ("--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig")
    return (*(f"{flag}={path}" for flag in flags), "--bind-address=127.0.0.1", "--leader-elect=false")


def _hub_process(layout: ClusterLayout, role: str, *argv: str) -> ProcessPlan:
    return ProcessPlan(role=role, node=HUB, namespace=HUB, argv=argv, log=str(layout.log(role)))


def _gate_flags(component: str, feature_gates: dict[str, bool]) -> tuple[str, ...]:
    return tuple(f"--{name}={value}" for name, value in component_flags(component, feature_gates).items())
