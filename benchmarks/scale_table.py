"""The tables of the page "Scale", of the lines that `benchmarks.scale` wrote, and what follows from them for
streams that are longer than any that was measured.

    python -m benchmarks.scale_table --ledger docs/results/scale.jsonl
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.benchmark_command import benchmark_parser
from benchmarks.scale import read_lines
from benchmarks.slice_schedule import Work, expected_seconds, most_gained

Lines = list[dict[str, Any]]
ASKED, CANDIDATES = 0.15, 101  # of all events, and against how many: the test split of a long log
SCORED = 1_320_000  # candidates a second, one thread (docs/understand/cooccurrence.md, edition 2, 10⁶)
DISK = 1e9  # bytes a second that a snapshot is written at, and read: assumed
SLICES = 16  # of the test split
GB_HOUR, CORE_HOUR = 0.005, 0.04  # dollars: assumed, as clouds rent memory and cores


def report(lines: Lines) -> str:
    """All tables as Markdown."""
    return "\n\n".join((steps_table(lines), curve_table(lines), machines_table(lines)))


def steps_table(lines: Lines) -> str:
    rows = [
        "| events | step | seconds | of the processor | resident at most |",
        "| ---: | --- | ---: | ---: | ---: |",
    ]
    rows += [
        f"| {line['events']:,} | {line['step']} | {line['seconds']:,.0f} | "
        f"{line['processor_seconds']:,.0f} | {line['peak_mb']:,} MB |"
        for line in lines
    ]
    return "\n".join(rows)


def curve_table(lines: Lines) -> str:
    rows = [
        "| model | events | nodes | µs an event | events a second | bytes an event | bytes a node |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for line in sorted(_observed(lines), key=lambda line: (line["step"], line["events"])):
        micro = 1e6 / line["events_per_second"]
        rows.append(
            f"| {line['step'].removeprefix('observe ')} | {line['events']:,} | {line['nodes']:,} | "
            f"{micro:.2f} | {line['events_per_second']:,} | {line['bytes_per_event']:.0f} | "
            f"{line['bytes_per_node']:,.0f} |"
        )
    return "\n".join(rows)


def machines_table(lines: Lines) -> str:
    """What keat-rank would take, from its longest measured stream."""
    largest = max(_observed(lines, "keat-rank"), key=lambda line: int(line["events"]))
    rows = [
        "| events | state | observing | answering, one core | most that workers gain | hours with 8 | "
        "dollars with 8 |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for events in (10**8, 10**9, 10**10):
        work, state = work_of(events, largest)
        hours = expected_seconds(work, SLICES, 8) / 3600
        dollars = hours * 9 * (CORE_HOUR + GB_HOUR * state / 1e9)  # eight workers, and who observes
        observing = (work.before + work.observing) / 3600
        rows.append(
            f"| {events:,} | {state / 1e9:,.0f} GB | {observing:,.2f} h | {work.answering / 3600:,.2f} h | "
            f"{most_gained(work):.1f} | {hours:,.2f} | {dollars:,.2f} |"
        )
    return "\n".join(rows)


def work_of(events: int, measured: dict[str, Any]) -> tuple[Work, float]:
    """The work of so many events at the measured cost of one, and the bytes of the state at its end. Only the
    test split is cut into slices; what comes before it is observed first."""
    observing = events * measured["observing_processor_seconds"] / measured["events"]
    state = events * measured["bytes_per_event"]
    asking = events * ASKED * CANDIDATES / SCORED
    in_slices = ASKED * observing
    work = Work(in_slices, state / DISK, asking + in_slices, before=observing - in_slices)
    return work, state


def _observed(lines: Lines, model: str = "") -> Lines:
    return [line for line in lines if line["step"].startswith(f"observe {model}")]


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--ledger", type=Path, required=True)
    print(report(read_lines(parser.parse_args().ledger)))


if __name__ == "__main__":
    main()
