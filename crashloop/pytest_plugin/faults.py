"""`restarts.crash`: ends a container of somebody else's pod as if it had crashed, by a privileged pod beside it on its node.

Theory of operation. No API ends a process with an exit code. The helper sees the node's processes, finds the first one of the
container by its id in /proc/PID/cgroup, and signals it; writes `exit_group(N)` where it would go on (proc(5), /proc/PID/mem); or
fills the memory that its cgroup may have, with the process as the one that the kernel kills first. SIGTERM and others do what the
process has asked for; SIGKILL, the exit and the kernel cannot be refused.
"""

from functools import partial
from signal import Signals
from typing import NamedTuple

from crashloop.errors import ClusterError, UsageError
from crashloop.kube.client import KubeApi
from crashloop.waiting import WaitTimeout, wait_until
from crashloop.yaml_text import Json

ENDS_WITHIN_S = 60.0
HELPER = "crashloop-crash"

SCRIPT = r"""
id=$1; how=$2; value=$3
for process in /proc/[0-9]*; do
  grep -q "$id" "$process/cgroup" 2>/dev/null || continue
  [ "$(sed -n 's/^NSpid:.*\t//p' "$process/status")" = 1 ] && init=$process
  first=${first:-$process}
done
init=${init:-$first}
[ -n "$init" ] || { echo "no process of the container on this node"; exit 3; }
pid=${init#/proc/}
case $how in
signal) kill -"$value" "$pid" ;;
exit)
  kill -STOP "$pid"
  sleep 0.1
  pc=$(sed 's/.* //' "$init/syscall")
  n=$(printf %02x "$value")
  case $(uname -m) in
  x86_64) back=2; code="\x90\x90\xbf\x$n\x00\x00\x00\xb8\xe7\x00\x00\x00\x0f\x05" ;;
  aarch64)
    low=$(printf %02x $(((value << 5) & 255))); high=$(printf %02x $(((value >> 3) & 255)))
    back=4; code="\x1f\x20\x03\xd5\x$low\x$high\x80\xd2\xc8\x0b\x80\xd2\x01\x00\x00\xd4" ;;
  *) kill -CONT "$pid"; echo "no exit code on $(uname -m)"; exit 3 ;;
  esac
  printf "$code" | dd of="$init/mem" bs=1 seek=$((pc - back)) conv=notrunc 2>/tmp/said
  done=$?
  kill -CONT "$pid"
  [ $done = 0 ] || { cat /tmp/said; exit 3; } ;;
oom)
  root=/node-cgroup
  path=$(sed -n 's/^[0-9]*:memory://p' "$init/cgroup")
  if [ -n "$path" ]; then
    group=$root/memory$path; limit=memory.limit_in_bytes; usage=memory.usage_in_bytes
  else
    group=$root$(sed -n 's/^0:://p' "$init/cgroup"); limit=memory.max; usage=memory.current
  fi
  echo 1000 >"$init/oom_score_adj"
  echo $(($(cat "$group/$usage") + 4194304)) >"$group/$limit" || exit 3
  echo $$ >"$group/cgroup.procs" || exit 3
  dd if=/dev/zero of=/dev/shm/fill bs=65536 count=512 2>/dev/null
  rm -f /dev/shm/fill ;;
esac
"""


class Fault(NamedTuple):
    """What is done to a container's first process."""

    how: str
    value: int = 0


def fault_of(*, exit: int | None, signal: int | str | None, oom: bool) -> Fault:  # the user's own word
    """Raises UsageError unless one of them is given, and for what no process can end with."""
    given = [exit is not None, signal is not None, oom]
    if sum(given) != 1:
        raise UsageError("crash: expected one of exit=0 to 255, signal=SIGKILL or the like, and oom=True.")
    if exit is not None:
        if isinstance(exit, bool) or not isinstance(exit, int) or not 0 <= exit <= 255:
            raise UsageError(f"crash: exit={exit!r}; expected 0 to 255.")
        return Fault("exit", exit)
    if signal is None:
        return Fault("oom")
    try:
        name = str(signal).upper() if isinstance(signal, bool) or not isinstance(signal, int) else signal
        return Fault("signal", Signals(name) if isinstance(name, int) else Signals["SIG" + name.removeprefix("SIG")])
    except (KeyError, ValueError):
        raise UsageError(f"crash: signal={signal!r}; expected one such as SIGKILL, or its number.") from None


def helper_of(pod: Json, container_id: str, fault: Fault, image: str) -> Json:
    """The manifest of the pod that does it."""
    arguments = [container_id, fault.how, str(fault.value)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": f"{HELPER}-"},
        "spec": {
            "nodeName": pod["spec"]["nodeName"],
            "hostPID": True,
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": "helper",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": [
                        "/bin/sh",
                        "-c",
                        SCRIPT.replace("$", "$$"),
                        "helper",
                        *arguments,
                    ],  # Kubernetes expands $
                    "securityContext": {"privileged": True, "runAsUser": 0},
                    # Guaranteed, so that the kernel kills it last.
                    "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}},
                    "volumeMounts": [{"name": "cgroup", "mountPath": "/node-cgroup"}],
                }
            ],
            "volumes": [{"name": "cgroup", "hostPath": {"path": "/sys/fs/cgroup"}}],
        },
    }


def crash(api: KubeApi, namespace: str, pod: Json, container: str, fault: Fault, image: str) -> None:
    """End the container; returns when the pod's status says so.

    Raises UsageError for a container that does not run, ClusterError if the helper may not be made or could not do it.
    """
    name = pod["metadata"]["name"]
    before = status_of(pod, container)
    if (before.get("state") or {}).get("running") is None:
        raise UsageError(f"crash: container {container} of pod {namespace}/{name} does not run, so it cannot crash.")
    api_id = str(before["containerID"]).rpartition("/")[2]
    helper = _create(api, namespace, helper_of(pod, api_id, fault, image))
    try:
        wait_until(
            f"container {container} of pod {namespace}/{name} to end",
            lambda: _has_ended(api.get_pod(namespace, name), container, before) or _has_failed(api, namespace, helper),
            timeout_s=ENDS_WITHIN_S,
            every_s=0.2,
            last_seen=partial(_said, api, namespace, helper),
        )
        if not _has_ended(api.get_pod(namespace, name), container, before):
            node, told = pod["spec"]["nodeName"], _said(api, namespace, helper)
            raise ClusterError(f"crash: the helper on node {node} could not do it.\n{told}")
    except WaitTimeout as error:
        raise ClusterError(f"crash: {error}") from None
    finally:
        api.delete_pod(namespace, helper, grace_s=0)


def _create(api: KubeApi, namespace: str, manifest: Json) -> str:
    return str(
        api.call("create a privileged pod, for crash()", "POST", f"/api/v1/namespaces/{namespace}/pods", body=manifest)[
            "metadata"
        ]["name"]
    )


def status_of(pod: Json, container: str) -> Json:
    """Of a container, sidecars among them; empty without one."""
    sections = ("containerStatuses", "initContainerStatuses")
    listed = [each for section in sections for each in (pod.get("status") or {}).get(section) or ()]
    return next((each for each in listed if each["name"] == container), {})


def _has_ended(pod: Json, container: str, before: Json) -> bool:
    now = status_of(pod, container)
    return (
        now.get("restartCount") != before.get("restartCount") or (now.get("state") or {}).get("terminated") is not None
    )


def _has_failed(api: KubeApi, namespace: str, helper: str) -> bool:
    return bool(api.get_pod(namespace, helper)["status"].get("phase") == "Failed")


def _said(api: KubeApi, namespace: str, helper: str) -> str:
    statuses = api.get_pod(namespace, helper)["status"].get("containerStatuses") or [{}]
    state = statuses[0].get("state") or {}
    waiting = state.get("waiting")
    if waiting is not None:
        return f"the helper waits: {waiting.get('reason', '')} {waiting.get('message', '')}".strip()
    return f"the helper says: {api.read_log(namespace, helper, 'helper').strip() or 'nothing'}"
