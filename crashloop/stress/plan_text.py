"""A stress plan in words for its report: the users of every load, their numbers, and the stages. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from crashloop.report.stress.results import PlannedLoad, PlannedRun, PlannedStage
from crashloop.report.text import counted, flattened
from crashloop.slo.scrapes import Scrapes, sample_of
from crashloop.spec.pod import RestartPolicy
from crashloop.stress.loads import AnyLoad, Crash, Rollout
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan
from crashloop.stress.pod_template import PodTemplate
from crashloop.stress.profile import Disturbance, Stage

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
    """One user of a load: its fields as its file has them, without those that have their defaults."""
    if isinstance(load, Crash) and load.own is not None:
        return _of_template(load.own)
    others = [each.name for each in msgspec.structs.fields(load) if getattr(load, each.name) != each.default]
    fields = {name: msgspec.to_builtins(getattr(load, name)) for name in others if name != "node"}
    said = flattened({name: "none" if value is None else value for name, value in fields.items()})
    return ", ".join(f"{name} {value}" for name, value in said) or "as by default"


def _of_template(template: PodTemplate) -> str:
    pod, images = template.pod, template.images
    images_of = f"image{'s' * (len(images) != 1)} {', '.join(images)}"
    return (
        f"the pod of {template.file}, as it is: {counted(len(pod.containers), 'container')}, {images_of}; "
        f"restart policy {pod.restart_policy.value}"
    )


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
