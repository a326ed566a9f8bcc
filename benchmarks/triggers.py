"""Our trigger beside Airflow's own: requests, CPU, memory, sockets, lateness of the loop, delay of events.

Run: ``python benchmarks/triggers.py [--quick | --full] [--only TEXT] [--json FILE]`` or ``make bench``.
Each case is a process with so many real triggers of one kind; servers are processes of their own, and the
idle loop and tasks that only wait are measured in the same run. Machines differ: the ratios are what to
look at. Do nothing else on the machine meanwhile. A missed target is shown, and does not fail the run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from side_by_side._machine import about
from side_by_side._plan import Scale, floors, plan
from side_by_side._run import Finding, floors_of, measured
from side_by_side._table import HEAD, WIDTH
from side_by_side._triggers import PEERS


def main() -> int:
    """Measure and print; 1 when a case failed, or when a target of a whole run could not be judged."""
    options = _options()
    scale: Scale = "quick" if options.quick else "full" if options.full else "usual"
    began, machine = time.monotonic(), about()
    _say_where(machine, scale)
    base = floors_of(floors(scale), _say)
    _say(HEAD)
    findings = []
    for comparison in plan(scale):
        if options.only in comparison.name:
            findings.append(measured(comparison, base))
            _say("-" * WIDTH)
            _say("\n".join(findings[-1].lines()))
    _say("=" * WIDTH)
    _summarize(findings, seconds=time.monotonic() - began)
    report = {
        "scale": scale,
        "machine": machine,
        "floors": {"idle_share": base.idle_share, "bare_memory": base.bare_memory, "idle": base.idle},
        "comparisons": [finding.to_json() for finding in findings],
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    _say(f"written to {options.json}")
    return 1 if any(finding.failures for finding in findings) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="100 waits for seconds: shows that it runs")
    length.add_argument("--full", action="store_true", help="three times as long, and the peer's 5,000 on S3")
    parser.add_argument("--only", default="", metavar="TEXT", help="comparisons with this in their name")
    default = Path(__file__).parent / "results" / "triggers.json"
    parser.add_argument(
        "--json", type=Path, default=default, metavar="FILE", help="where to write all figures"
    )
    return parser.parse_args()


def _say_where(machine: dict[str, Any], scale: Scale) -> None:
    packages = machine["packages"]
    _say(f"{machine['cores']} cores, {machine['cpu']}, Python {machine['python']}, {machine['system']}")
    _say(f"load before: {machine['load_before']:.2f}; scale: {scale}; Airflow {packages['apache-airflow']}")
    for name, package in PEERS.values():
        _say(f"peer: {name} of {package} {packages[package]}")


def _summarize(findings: list[Finding], *, seconds: float) -> None:
    judged = [
        (finding.comparison.name, target.figure, verdict)
        for finding in findings
        for target, verdict in zip(finding.comparison.targets, finding.verdicts(), strict=True)
    ]
    met = sum(verdict == "met" for *_, verdict in judged)
    _say(f"{met} of {len(judged)} targets met, in {seconds / 60:.1f} minutes")
    for name, figure, verdict in judged:
        if verdict != "met":
            _say(f"  {verdict}: {figure} of {name}")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
