"""Whether results may stand in one comparison: they were found by one code, as far as lines say which.

Lines of before there were digests say only a commit. Two of one commit count as one code, and two of
different commits do not, where they are of the same class of models; of different classes, where no line
says more, nothing speaks against it but nobody knows, and a table names the commits.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from keat.errors import InputError
from keat.experiments.job import Job
from keat.experiments.line import Line


def are_of_one_code(ours: tuple[Job, Line], theirs: tuple[Job, Line]) -> bool:
    """Whether a difference of two results is one of models and not of codes."""
    (our_job, our_line), (their_job, their_line) = ours, theirs
    of_one_class = our_job.model_files == their_job.model_files
    one, other = our_line.code, their_line.code
    if one is None and other is None:
        return not of_one_class or our_line.commit == their_line.commit
    if one is None or other is None:
        return not of_one_class
    if known_as(one.protocol) != known_as(other.protocol):
        return False
    return not of_one_class or known_as(one.model) == known_as(other.model)


def require_one_code(what: str, results: Iterable[tuple[Job, Line]]) -> None:
    """No table is made of results that are known to be of two codes."""
    told = [(job, line) for job, line in results if line.code is not None]
    first: dict[tuple[str, ...], tuple[Job, Line]] = {}
    for job, line in told:
        for kind, digest in ((("protocol",), "protocol"), (job.model_files, "model")):
            before_job, before = first.setdefault((digest, *kind), (job, line))
            one, other = (known_as(getattr(each.code, digest)) for each in (before, line))
            if one != other:
                raise InputError(
                    f"{what} has runs of two codes: {_named(before_job)} ({digest} {one}, commit "
                    f"{before.commit}) and {_named(job)} ({digest} {other}, commit {line.commit}); run those "
                    "of the older code again (--again), or show that their numbers are the same "
                    "(same_numbers.toml)."
                )


def is_of_todays_code(job: Job, line: Line) -> bool:
    """Whether the run would be the same if it were run now; not so where a line does not say."""
    now = job.code()
    return line.code is not None and (known_as(line.code.protocol), known_as(line.code.model)) == (
        known_as(now.protocol),
        known_as(now.model),
    )


def codes_of(results: Iterable[tuple[Job, Line]]) -> str:
    """What a table says of the code of its results."""
    lines = [line for _, line in results]
    commits = sorted({line.commit or "unknown" for line in lines})
    if not lines:
        return ""
    silent = sum(line.code is None for line in lines)
    if not silent:
        said = f"One code, protocol {known_as(lines[0].code.protocol)}" if lines[0].code else ""
    elif silent == len(lines):
        said = "Lines of before runs named their code"
    else:
        said = f"{silent} of {len(lines)} lines do not name their code"
    return f"{said}; commit{'s' * (len(commits) > 1)} {', '.join(commits)}."


def known_as(digest: str) -> str:
    """The digest under which equal numbers were first found."""
    same = _same()
    while digest in same:
        digest = same[digest]
    return digest


@cache
def _same() -> Mapping[str, str]:
    text = (files("keat.experiments") / "same_numbers.toml").read_text(encoding="utf-8")
    return {entry["code"]: entry["as"] for entry in tomllib.loads(text).get("same", [])}


def _named(job: Job) -> str:
    return f"{job.arm or job.model}, seed {job.seed}"
