"""A wrong kubelet: the real one with helpers around it. `python -m quality.wrapper --fault NAME -- KUBELET ARGUMENTS`.

It replaces a node's kubelet: it forwards SIGTERM and SIGINT, ends with the kubelet's exit code, and ends its helpers, also
if it is killed.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import yaml

from quality import faults
from quality.accidents import kill_runtime, life_begins
from quality.api_front import ApiFront
from quality.arguments import value_of, with_value
from quality.configuration import Config, delays_s, real_config
from quality.cri_proxy import CriProxy
from quality.fault import PASSES_ON, Accident, Fault, Meddling
from quality.front import Front
from quality.lies import Lie

ALL = {each.name: each for each in vars(faults).values() if isinstance(each, Fault)}

_DIES_WITH_US = ("setpriv", "--pdeathsig=KILL")
_UNIX = "unix://"
REFUSED, PANICKED = 1, 2
"""Exit codes of a kubelet that refuses its configuration, and of a Go program that panics."""


class WrappedKubelet:
    """The real kubelet as a child process."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv
        self._process: asyncio.subprocess.Process | None = None
        self._is_to_return = False

    async def run(self) -> int:
        """Start it and return its exit code once it ends, unless it was killed to return."""
        while True:
            self._process = await asyncio.create_subprocess_exec(*_DIES_WITH_US, *self._argv)
            code = await self._process.wait()
            if not self._is_to_return:
                return code if code >= 0 else 128 - code
            self._is_to_return = False

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    def kill_to_return(self) -> None:
        """Kill it; it restarts at once."""
        self._is_to_return = True
        self.signal(signal.SIGKILL)


async def wrap(fault: Fault, argv: Sequence[str]) -> int:
    """Run a kubelet with a fault; its exit code."""
    config_path = Path(value_of("--config", argv) or "")
    declared: Config = yaml.safe_load(config_path.read_text(encoding="utf-8"))
    runtime_socket = Path(declared["containerRuntimeEndpoint"].removeprefix(_UNIX))
    real_path = config_path.with_name(f"really-{config_path.name}")
    meddling = meddling_of(fault, declared, is_first_start=not real_path.exists())
    async with AsyncExitStack() as helpers:
        endpoint = None
        if meddling is not None:
            ours = runtime_socket.with_suffix(".cri")
            proxy = CriProxy(listen=ours, runtime=runtime_socket, meddling=meddling)
            await proxy.start()
            helpers.push_async_callback(proxy.stop)
            endpoint = f"{_UNIX}{ours}"
        if fault.fronted:
            front = Front(address=value_of("--node-ip", argv) or "", declared=declared)
            await front.start()
            helpers.push_async_callback(front.stop)
        config = real_config(declared, really=fault.really, runtime_endpoint=endpoint, fronted=fault.fronted)
        real_path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        argv = with_value("--config", str(real_path), argv)
        if fault.phase_while_all_wait is not None:
            kubeconfig = Path(value_of("--kubeconfig", argv) or "")
            api = ApiFront(kubeconfig, phase_while_all_wait=fault.phase_while_all_wait)
            argv = with_value("--kubeconfig", str(await api.start()), argv)
            helpers.push_async_callback(api.stop)
        kubelet = WrappedKubelet(argv)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, kubelet.signal, number)
        mishap = asyncio.create_task(_mishap(fault, kubelet, Path(declared["podLogsDir"]), runtime_socket))
        try:
            code = await kubelet.run()
            return _panic() if fault.panics and code == REFUSED else code
        finally:
            mishap.cancel()


def meddling_of(fault: Fault, declared: Config, *, is_first_start: bool) -> Meddling | None:
    """What the proxy does for a fault in this start of the kubelet; None if there is no proxy."""
    if fault.from_second_start and is_first_start:
        return PASSES_ON
    if fault.stretch == 1.0:
        return fault.meddling
    longer_ms = (round(1000 * (fault.stretch - 1) * each) for each in delays_s(declared))
    return Meddling(lie=Lie(finished_by_ms=tuple(longer_ms)))


def _panic() -> int:
    """The end of a Go program that crashes."""
    sys.stderr.write("panic: runtime error: invalid memory address or nil pointer dereference\n\n")
    sys.stderr.write("goroutine 1 [running]:\nmain.main()\n")
    return PANICKED


async def _mishap(fault: Fault, kubelet: WrappedKubelet, pod_logs: Path, runtime_socket: Path) -> None:
    """The fault's disturbance, once, when a container of the node begins its third life."""
    if fault.accident is None:
        return
    await life_begins(pod_logs, 2)
    match fault.accident:
        case Accident.KUBELET_KILLED:
            kubelet.kill_to_return()
        case Accident.RUNTIME_KILLED:
            await kill_runtime(runtime_socket)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m quality.wrapper", description=__doc__)
    parser.add_argument("--fault", required=True, choices=sorted(ALL))
    parser.add_argument("kubelet", nargs="+", metavar="-- KUBELET ARGUMENTS")
    chosen = parser.parse_args()
    return asyncio.run(wrap(ALL[chosen.fault], chosen.kubelet))


if __name__ == "__main__":
    sys.exit(main())
