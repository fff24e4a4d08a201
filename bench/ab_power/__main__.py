"""Print the power and the false alarms of A/B comparisons, as a Markdown table.

python -m bench.ab_power [RUN ...]      (default: the stress runs below runs/)
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.ab_power.counting import compared_run, counted
from bench.ab_power.text import counts_as_table, of_relabellings
from crashloop.settings import resolve_settings
from crashloop.stress.folder import StressDir, published_stress


def main(paths: Sequence[Path]) -> None:
    found = []
    for path in paths or sorted(resolve_settings().paths.runs_dir.glob("*-stress")):
        run = StressDir.open(path)
        one = compared_run(published_stress(run), run.stress_plan()) if run.slo_json.exists() else None
        if one is None:
            print(f"{path}: is left out; it has no complete, judged comparison.", file=sys.stderr)
        else:
            found.append(one)
            if sentence := of_relabellings(one):
                print(f"{path}: {sentence}")
    print(counts_as_table(counted(found)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m bench.ab_power", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="*")
    main(parser.parse_args().runs)
