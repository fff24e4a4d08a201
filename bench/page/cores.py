"""One load on fewer CPUs beside the same load on all of them: what a core more changes, stage by stage."""

from crashloop.report.markdown import table
from crashloop.report.stress.load import FIGURES, stage_figure_text, stage_name
from crashloop.report.stress.results import StressResults
from crashloop.report.text import counted

SHOWN = (
    "restarts_per_s",
    "lateness_p50_s",
    "startup_p50_s",
    "kubelet_cpu_s_per_restart",
    "runtime_cpu_s_per_restart",
    "kubelet_requests_per_s",
    "host_busy_share",
)
"""The figures that the number of CPUs may change."""


def cores(few: StressResults, many: StressResults | None) -> str:
    """A row per figure and run, for the stages of both. Raises ValueError without the other run, or its plan."""
    if many is None or many.planned is None or few.planned is None:
        raise ValueError(f"no numbers of profile {few.profile} are published to compare with")
    of_few, of_many = ({stage_name(each): each.figures for each in run.stages} for run in (few, many))
    shared = [name for name in of_few if name in of_many]
    sides = ((counted(few.planned.host_cores, "core"), of_few), (counted(many.planned.host_cores, "core"), of_many))
    rows = [
        (f"{FIGURES[figure].words}, {on}", *(stage_figure_text(figure, figures[name]) for name in shared))
        for figure in SHOWN
        for on, figures in sides
    ]
    return table(("", *shared), rows, right=True)
