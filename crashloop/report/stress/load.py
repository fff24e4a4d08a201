"""The load of a stress run in its document: as planned, the nodes, and arrivals intended and made."""

from collections.abc import Iterator

from crashloop.report.document import Article, Block, Listing, Medium, Paragraph, table
from crashloop.report.flatten import config_yaml
from crashloop.report.stress.results import NodeResult, StressResults
from crashloop.report.text import counted


def planned(results: StressResults) -> Iterator[Block]:
    """Loads, stages, and how the load was made; nothing for results without a plan."""
    plan = results.planned
    if plan is None:
        return
    loads = [(each.name, each.kind, each.node, f"{each.user}.", each.users) for each in plan.loads]
    yield table(("load", "kind", "node", "one user is", "users"), *loads)
    rounds = f", {counted(plan.rounds, 'round')}" if plan.rounds > 1 else ""
    yield Paragraph(
        f"Stages{rounds}. A stage is measured after all of its users have started, at the given rate, and settled; then they "
        "stop and remove their objects.",
        "note",
        Medium.PAGE,
    )
    stages = [
        (
            f"{each.label}, {each.arm}" if each.arm else each.label,
            each.users_text or "none",
            *(f"{value:g}" for value in (each.spawn_per_s, each.settle_s, each.duration_s)),
            "not measured" if each.measured_s is None else f"{each.measured_s:g}",
        )
        for each in plan.stages
    ]
    header = ("stage", "users", "come at (users/s)", "settle for (s)", "planned (s)", "measured (s)")
    yield table(header, *stages, look="stages", on=Medium.PAGE)
    if plan.disturbances:
        yield Paragraph(f"On purpose: {'; '.join(plan.disturbances)}.")
    source = f"a master and {plan.workers} workers" if plan.workers else "one process"
    elsewhere = ": the workers ran on other machines, the master" if plan.are_workers_elsewhere else ""
    yield Paragraph(
        f"The load came from {source}{elsewhere} on the nodes' host with {plan.host_cores} cores. Kubelets, API server and "
        f"processes were scraped every {plan.scrape_every_s:g} s.",
        "note",
    )
    if plan.sample is not None:
        yield Paragraph(
            f"Kubelets were scraped on {plan.sample.words}: {', '.join(plan.scraped_nodes)}. Rows about nodes judge these only, "
            "and figures of kubelets are sums over these."
        )


def nodes(results: StressResults) -> Iterator[Block]:
    """The nodes, with their configuration on a page."""
    rows = [(_name(each), each.profile, each.arm or "–", each.curve or "unknown") for each in results.nodes]
    yield table(("node", "kubelet profile", "arm", "delays"), *rows)
    for each in results.nodes:
        if each.stands_for:
            yield Paragraph(
                f"The scheduler spread the load of {each.name} over {counted(len(each.stands_for), 'node')}: "
                f"{', '.join(each.stands_for)}. Numbers of users are those of all of them.",
                "note",
                Medium.PAGE,
            )
    for each in {each.profile: each for each in results.nodes}.values():
        yield Article(f"Kubelet profile {each.profile}", (Listing(config_yaml(each.config)),))


def _name(node: NodeResult) -> str:
    return f"{node.name} ({counted(len(node.stands_for), 'node')})" if node.stands_for else node.name


def arrivals(results: StressResults) -> Iterator[Block]:
    """Arrivals of loads that follow a rate."""
    if not results.arrivals:
        return
    yield Paragraph(
        "Open models: arrivals follow the rate alone, even if the system answers slowly; arrivals without a place are dropped "
        "and counted.",
        "note",
        Medium.PAGE,
    )
    rows = [
        (
            each.load,
            *map(str, (each.intended, each.made, each.dropped, each.failed)),
            "–" if each.late_p99_s is None else f"{each.late_p99_s:.3f}",
        )
        for each in results.arrivals
    ]
    yield table(("arrivals of", "intended", "made", "dropped", "failed", "sent late, p99 (s)"), *rows, look="stages")
