"""A stress plan in words for its report: the users of every load, their numbers, and the stages. Pure."""

from collections.abc import Mapping, Sequence

from crashloop.report.stress.results import PlannedLoad, PlannedRun, PlannedStage
from crashloop.report.text import counted
from crashloop.slo.scrapes import Scrapes, sample_of
from crashloop.spec.pod import RestartPolicy, RestartRule
from crashloop.stress.loads import AnyLoad, Canary, Churn, Crash, Demand, Finish, Jobs, Rollout, ServerProbe, Volume
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan
from crashloop.stress.pod_template import PodTemplate
from crashloop.stress.profile import Disturbance, Stage

_VOLUMES: Mapping[Volume, str] = {"memory": "a volume in memory", "host": "a volume of the host"}
MAX_NAMED = 3
"""Stages that are named with a load's users; further ones are counted."""


def planned_run(
    plan: StressPlan, measured: Sequence[Measurement], hosts: Mapping[str, str], scrapes: Sequence[Scrapes] = ()
) -> PlannedRun:
    """The plan beside its measurements. `hosts`: name of the Node object for every node of the profile."""
    profile = plan.load
    seconds = {each.index: round(each.phase.seconds, 1) for each in measured}
    return PlannedRun(
        loads=tuple(
            PlannedLoad(
                name=name,
                kind=str(type(load).__struct_config__.tag),
                node=hosts.get(load.node, load.node),
                user=user_in_words(load),
                users=_users_in_words(name, profile.stages),
            )
            for name, load in profile.loads.items()
        ),
        stages=tuple(
            PlannedStage(
                label=stage.label,
                arm=stage.arm,
                duration_s=stage.duration_s,
                measured_s=seconds.get(index),
                users={name: int(count) for name, count in stage.users.items()},
                spawn_per_s=stage.spawn_per_s,
                settle_s=stage.settle_s,
            )
            for index, stage in enumerate(plan.stages)
        ),
        rounds=profile.rounds,
        scrape_every_s=profile.scrape_every_s,
        workers=profile.workers,
        are_workers_elsewhere=plan.listen is not None,
        host_cores=plan.cores,
        disturbances=tuple(_disturbance(each) for each in profile.disturbances),
        sample=sample_of(scrapes),
        scraped_nodes=tuple(sorted({each.source.node for each in scrapes if each.source.sample is not None})),
    )


def crashing_pods(stage: Stage, loads: Mapping[str, AnyLoad]) -> int:
    """The most pods of a stage whose containers exit and are restarted again and again, on all nodes together."""
    return sum(
        round(int(count) * loads[name].pods_each * restarted_share(loads[name])) for name, count in stage.users.items()
    )


def restarted_share(load: AnyLoad) -> float:
    """Share of a load's pods that crash endlessly: without pods that stay down, healthy pods, Jobs and servers.

    Those of a template are assumed to crash.
    """
    if isinstance(load, Crash) and load.own is not None:
        return 1.0
    if isinstance(load, Crash):
        return (1 - load.succeeding) * _is_restarted(load, load.exit_code) + load.succeeding * _is_restarted(load, 0)
    return float(isinstance(load, Rollout))


def _is_restarted(load: Crash, exit_code: int) -> bool:
    if load.rule is not None and load.rule.matches(exit_code):
        return True
    return load.restart_policy is RestartPolicy.ALWAYS or (
        load.restart_policy is RestartPolicy.ON_FAILURE and exit_code != 0
    )


def user_in_words(load: AnyLoad) -> str:
    """One user of a load, with all of its fields."""
    if isinstance(load, Crash):
        return _crash(load) if load.own is None else _of_template(load.own)
    if isinstance(load, Churn):
        return (
            f"healthy pods, {load.rate_per_s:g} a second, held for {load.hold_s:g} s once started; at most {load.in_flight} "
            f"at once, abandoned after {load.start_within_s:g} s{_with(load.volume)}"
        )
    if isinstance(load, Canary):
        lists = ", a LIST and a streaming list" if load.watch_lists else " and a LIST"
        return (
            f"{load.rate_per_s:g} reads of the API server a second, in turn a GET of a pod{lists} of the run's pods; each "
            f"waits {load.answer_within_s:g} s at the most, at most {load.in_flight} at once"
        )
    if isinstance(load, Finish):
        rule = f", {_rule(load.rule)}" if load.rule is not None else ""
        return (
            f"pods that end, {load.rate_per_s:g} a second, with {counted(load.containers, 'container')} that run "
            f"{load.run_s:g} s and exit with {load.exit_code}; restart policy Never{rule}; watched for "
            f"{load.hold_s:g} s, at most {load.in_flight} at once, abandoned after {load.start_within_s:g} s"
        )
    if isinstance(load, Jobs):
        return (
            f"Jobs, {load.rate_per_s:g} a second, whose pod runs {load.run_s:g} s and fails {_times(load.failures)} before it "
            f"succeeds; at most {load.in_flight} at once, abandoned after {load.complete_within_s:g} s"
        )
    if isinstance(load, Rollout):
        return (
            f"a Deployment of {counted(load.replicas, 'replica')} that run {load.run_s:g} s and exit with {load.exit_code}, "
            f"with a rollout every {load.period_s:g} s"
        )
    return _demand(load)


def _crash(load: Crash) -> str:
    lives = "runs" if load.containers == 1 else "run"
    exits = "exits" if load.containers == 1 else "exit"
    parts = [
        f"a pod with {counted(load.containers, 'container')} that {lives} {load.run_s:g} s and {exits} with {load.exit_code}, "
        f"{'again and again' if restarted_share(load) else 'once'}; restart policy {load.restart_policy.value}"
    ]
    if load.rule is not None:
        parts.append(_rule(load.rule))
    if load.succeeding:
        parts.append(f"{100 * load.succeeding:g} % of the pods exit with 0 instead")
    if load.companions:
        parts.append(f"{counted(load.companions, 'healthy container')} beside")
    if load.startup is not None:
        parts.append(f"each life first takes {load.startup.cpu_s:g} s of CPU and reads {load.startup.read_mb} MiB")
    if load.host_network:
        parts.append("the network of the node")
    if load.volume is not None:
        parts.append(_VOLUMES[load.volume])
    if load.image_mib:
        parts.append(f"an image of {load.image_mib} MiB")
    return "; ".join(parts)


def _of_template(template: PodTemplate) -> str:
    pod, images = template.pod, template.images
    images_of = f"image{'s' * (len(images) != 1)} {', '.join(images)}"
    return (
        f"the pod of {template.file}, as it is: {counted(len(pod.containers), 'container')}, {images_of}; "
        f"restart policy {pod.restart_policy.value}"
    )


def _with(volume: Volume | None) -> str:
    return "" if volume is None else f"; {_VOLUMES[volume]}"


def _rule(rule: RestartRule) -> str:
    codes = ", ".join(map(str, rule.values)) or "none"
    return f"restart rule {rule.action.value} for exit codes {rule.operator.value} {codes}"


def _demand(load: Demand) -> str:
    limit = "no CPU limit" if load.cpu_limit is None else f"a CPU limit of {load.cpu_limit}"
    bursts = "".join(
        f", from {burst.after_s:g} s on {burst.rate_per_s:g} a second for {burst.for_s:g} s" for burst in load.bursts
    )
    to_it = "to it" if load.service is None else f"to the ready endpoints of Service {load.service} in turn"
    return (
        f"a server of {counted(load.workers, 'worker')} with {limit} and a CPU request of {load.cpu_request}, and "
        f"{load.rate_per_s:g} HTTP requests a second {to_it} (Poisson, seed {load.seed}){bursts}; each takes {load.work_ms:g} ms "
        f"of CPU and is kept until it is answered, at most {load.in_flight} at the server at once; "
        f"{_probe(load.probe)}{_readiness(load.readiness)}"
    )


def _probe(probe: ServerProbe | None) -> str:
    return "no liveness probe" if probe is None else f"liveness probe {_asked(probe, 'restarting')}"


def _readiness(probe: ServerProbe | None) -> str:
    return "" if probe is None else f"; readiness probe {_asked(probe, 'not ready')}"


def _asked(probe: ServerProbe, outcome: str) -> str:
    where = "answered beside the queue" if probe.own_worker else "in the queue"
    return (
        f"every {probe.period_s} s, {where}, with a timeout of {probe.timeout_s} s, {outcome} after "
        f"{counted(probe.failure_threshold, 'failure')} in a row"
    )


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _users_in_words(load: str, stages: Sequence[Stage]) -> str:
    """`1 in every stage`, or the numbers by stage."""
    found = {stage.label: int(stage.users[load]) for stage in stages if load in stage.users}
    if not found:
        return "in no stage"
    numbers = set(found.values())
    if len(numbers) > 1:
        return "; ".join(f"{count} in {label}" for label, count in found.items())
    having = sum(1 for stage in stages if load in stage.users)
    if having == len(stages):
        return f"{numbers.pop()} in every stage"
    return f"{numbers.pop()} in {'; '.join(found) if having <= MAX_NAMED else f'{having} of {len(stages)} stages'}"


def _disturbance(each: Disturbance) -> str:
    down = f", down for {each.down_s:g} s" if each.down_s else ""
    return f"{each.action} on {each.node} after {each.after_s:g} s{down}"
