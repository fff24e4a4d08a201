"""The server of a Demand: workers with a queue before them. Pure.

Theory of operation. busybox httpd starts a program per request. It takes a turn from a pipe, which holds as many turns as the
server has workers, and gives it back when its work is done; the kernel wakes those who wait in their order. Work is a number
of turns of a loop, measured by each life before it listens, by the clock that CPU limits count in
(/proc/<pid>/schedstat: nanoseconds on a CPU).
"""

from typing import Any

from crashloop.pods.program import EVIDENCE_DIR
from crashloop.stress.loads import Demand, ServerProbe

PORT = 8080
WORK = "/cgi-bin/work"
_QUEUED, _BESIDE = "/cgi-bin/health", "/health"
_BOOT_TURNS = 100_000
"""About 0.1 s of CPU."""

_PROGRAM = f"""
www=$EVIDENCE/www
mkdir -p $www/cgi-bin
rm -f $www/queue
mkfifo $www/queue
read -r from _ </proc/self/schedstat
i=0
while [ $i -lt {_BOOT_TURNS} ]; do i=$((i + 1)); done
read -r to _ </proc/self/schedstat
turns=$(($WORK_US * {_BOOT_TURNS} / ((to - from) / 1000)))
answer() {{
    cat >$www$1 <<END
#!/bin/sh
exec 3<>$www/queue
read -r -n 1 turn <&3
i=0
while [ \\$i -lt $2 ]; do i=\\$((i + 1)); done
printf . >&3
printf 'Content-Type: text/plain\\r\\n\\r\\ndone\\n'
END
    chmod 755 $www$1
}}
answer {WORK} $turns
answer {_QUEUED} 0
echo alive >$www{_BESIDE}
exec 3<>$www/queue
i=0
while [ $i -lt $WORKERS ]; do printf . >&3; i=$((i + 1)); done
exec httpd -f -p {PORT} -h $www
"""


def as_server(container: dict[str, Any], load: Demand) -> None:
    """Make a container the server of a load."""
    environment = {"EVIDENCE": EVIDENCE_DIR, "WORK_US": round(1000 * load.work_ms), "WORKERS": load.workers}
    container["command"] = ["/bin/sh", "-c", _PROGRAM]
    container["env"] = [{"name": name, "value": str(value)} for name, value in environment.items()]
    container["resources"] = {"requests": {"cpu": load.cpu_request, "memory": "8Mi"}}
    if load.cpu_limit is not None:
        container["resources"]["limits"] = {"cpu": load.cpu_limit}
    if load.probe is not None:
        container["livenessProbe"] = _probe(load.probe)
    if load.readiness is not None:
        container["readinessProbe"] = _probe(load.readiness)


def _probe(probe: ServerProbe) -> dict[str, Any]:
    return {
        "httpGet": {"path": _BESIDE if probe.own_worker else _QUEUED, "port": PORT},
        "periodSeconds": probe.period_s,
        "timeoutSeconds": probe.timeout_s,
        "failureThreshold": probe.failure_threshold,
    }
