"""The command as a whole: help, exit codes, and one sentence for each thing that can be wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import ORDERS, assert_fails, keat, process, write_orders

from keat.cli.console import print_json
from keat.models.registry import LABEL_MODELS, LINK_MODELS, NODE_MODELS

VERBS = [
    (),
    ("demo",),
    ("data",),
    ("data", "list"),
    ("data", "info"),
    ("data", "get"),
    ("evaluate",),
    ("train",),
    ("predict",),
]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, and a data folder that does not exist yet."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "data"))
    return folder


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help(verb: tuple[str, ...]) -> None:
    ran = keat(*verb, "--help")
    assert ran.code == 0
    assert ran.err == ""
    assert "Usage: keat" in ran.out
    if verb not in ((), ("data",)):
        assert "--json" in ran.out


def test_json_has_no_word_for_what_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    nan, inf = float("nan"), float("inf")
    print_json({"a": nan, "b": [inf, 1.5, (-inf, "NaN")], "c": {"d": nan, "e": None, "f": True, "g": 2**63}})
    assert capsys.readouterr().out == (
        '{"a": null, "b": [null, 1.5, [null, "NaN"]], "c": {"d": null, "e": null, "f": true, '
        '"g": 9223372036854775808}}\n'
    )


def test_without_a_verb_the_help_is_shown() -> None:
    ran = keat()
    assert ran.code == 2
    assert "evaluate" in ran.out + ran.err


def test_help_names_every_heuristic() -> None:
    """The list is written by hand, since asking the registry would bring torch."""
    nodes = {**NODE_MODELS, **LABEL_MODELS}
    names = {name for name, entry in (LINK_MODELS | nodes).items() if entry.heuristic}
    shown = re.sub(r"[\s│]+", " ", keat("evaluate", "--help").out)
    told = shown.split("or one of ")[1].split(". ")[0]
    listed = re.split(", |; for node properties |; for labels of events ", told)
    assert set(listed) == names


def test_version() -> None:
    assert re.fullmatch(r"keat \d+\.\d+\.\d+\n", keat("--version").out)


BAD_USAGE = [
    ("unknown verb", ["evalute", "edgebank", "payments"], "No such command"),
    ("unknown option", ["data", "list", "--jsn"], "No such option"),
    ("no dataset", ["evaluate", "edgebank"], "Missing argument 'DATASET'"),
    ("no split", ["evaluate", "edgebank", "payments", "--split", "train"], "use val or test"),
    ("refresh 0", ["evaluate", "edgebank", "payments", "--refresh", "0"], "at least 1, not 0"),
    ("refresh text", ["evaluate", "edgebank", "payments", "--refresh", "fast"], "a valid integer"),
    ("no negatives", ["evaluate", "edgebank", "payments", "--num-negatives", "0"], "at least 1, not 0"),
    ("seed", ["evaluate", "edgebank", "payments", "--seed", "-1"], "at least 0, not -1"),
    ("small demo", ["demo", "--events", "10"], "at least 1000, not 10"),
    ("no epochs", ["demo", "--epochs", "0"], "at least 1, not 0"),
    ("epochs text", ["train", "tgn", "payments", "--epochs", "many"], "a valid integer"),
    (
        "no question",
        ["predict", "run"],
        "Give exactly one of --source, --all-sources, --pairs, --embeddings and --graph",
    ),
    ("top nothing", ["predict", "run", "--source", "a", "--top", "0"], "at least 1, not 0"),
]


@pytest.mark.parametrize(("arguments", "message"), [pytest.param(*row[1:], id=row[0]) for row in BAD_USAGE])
def test_bad_usage_exits_with_2(arguments: list[str], message: str, workplace: Path) -> None:
    ran = keat(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert message in re.sub(r"[\s│]+", " ", ran.err)
    assert "Traceback" not in ran.err
    assert list(workplace.iterdir()) == []


GOOD = "src,dst,t\n" + "".join(f"{k % 7},{k % 5},{k}\n" for k in range(50))

BAD_FILES = [  # the sentences themselves are tested with the readers; here: that they arrive as they are
    ("missing file", None, [], r"events\.csv does not exist; check the path\."),
    ("empty file", "", [], r"events\.csv is empty"),
    ("no rows", "src,dst,t\n", [], r"events\.csv has columns but no rows"),
    ("missing column", GOOD, ["--src", "payer"], r"events\.csv has no column 'payer'; it has src, dst, t\."),
    ("no usual column", "a,b,t\n1,2,3\n", [], r"no column with a usual name for src .*\(a, b, t\)"),
    ("column twice", GOOD, ["--label", "t"], r"Column 't' of events\.csv is given twice, as time and label"),
    ("infinite time", "src,dst,t\n1,2,0.5\n1,2,inf\n", [], r"column 't', data row 2: the time is inf"),
    ("text time", GOOD + "1,2,soon\n", [], r"column 't', data row 51: 'soon' is not a time"),
    ("negative time", "src,dst,t\n1,2,-3\n", [], r"column 't', data row 1: the time is negative \(-3\)"),
    ("huge time", "src,dst,t\n1,2,1e300\n", [], r"column 't', data row 1: 1e\+300 does not fit"),
    ("float id", "src,dst,t\n1,2,1\n1.5,2,2\n", [], r"column 'src', data row 2: 1\.5"),
    ("missing time", "src,dst,t\n1,2,0.5\n1,2,nan\n", [], r"column 't', data row 2: the value is missing"),
    ("missing id", "src,dst,t\n1,2,1\n1,,2\n", [], r"column 'dst', data row 2: the value is missing"),
    (
        "infinite feature",
        "src,dst,t,x\n1,2,3,inf\n",
        ["--features", "x"],
        r"'x', data row 1: inf is not a fin",
    ),
    ("text feature", "src,dst,t,x\n1,2,3,red\n", ["--features", "x"], r"'x', data row 1: 'red' is not a num"),
    ("unknown unit", GOOD, ["--unit", "hour"], r"Unknown time unit 'hour'; use one of s, ms"),
    ("too short", "src,dst,t\n1,2,3\n2,3,4\n", [], r"events is too short to split: its 2 events"),
    (
        "one time",
        "src,dst,t\n" + "1,2,3\n" * 99,
        [],
        r"99 events have 1 distinct times, and training, validation and test need one each",
    ),
    ("ragged", GOOD + "1,2\n", [], r"events\.csv, data row 51: 2 values where the header names 3"),
]


@pytest.mark.parametrize("verb", [["data", "info"], ["evaluate", "edgebank"]], ids=["info", "evaluate"])
@pytest.mark.parametrize(
    ("text", "options", "message"), [pytest.param(*row[1:], id=row[0]) for row in BAD_FILES]
)
def test_a_bad_file_gets_one_sentence_and_nothing_is_written(
    verb: list[str], text: str | None, options: list[str], message: str, workplace: Path
) -> None:
    if text is not None:
        (workplace / "events.csv").write_text(text)
    before = sorted(workplace.parent.rglob("*"))
    assert re.search(message, assert_fails(keat(*verb, "events.csv", *options)))
    assert sorted(workplace.parent.rglob("*")) == before


def test_a_corrupt_parquet_gets_one_sentence(workplace: Path) -> None:
    (workplace / "events.parquet").write_bytes(b"PAR1 and then nothing of the kind PAR1")
    assert "events.parquet is not a readable Parquet file" in assert_fails(
        keat("data", "info", "events.parquet")
    )


BAD_NAMES = [
    ("dataset", ["data", "info", "tgbl-wikki"], "Unknown dataset 'tgbl-wikki'; did you mean 'tgbl-wiki'?"),
    ("dataset to get", ["data", "get", "jodie-moc"], "did you mean 'jodie-mooc'?"),
    ("model", ["evaluate", "edgebnk", "payments:2000"], "did you mean 'edgebank'?"),
    ("far model", ["evaluate", "xyz", "payments:2000"], "edgebank, edgebank-tw, "),
    (
        "task",
        ["evaluate", "edgebank", "payments:2000", "--task", "link-rank"],
        "did you mean 'link-ranking'?",
    ),
    (
        "negatives",
        ["evaluate", "edgebank", "payments:2000", "--negatives", "randm"],
        "did you mean 'random'?",
    ),
    ("size", ["data", "info", "payments:many"], "'payments:many' should name a number of events"),
    ("trainable model", ["train", "tgnn", "payments:2000"], "did you mean 'tgn'?"),
    (
        "device",
        ["train", "tgn", "payments:2000", "--device", "cdua"],
        "The device 'cdua' cannot be used here",
    ),
    ("run", ["predict", "nowhere", "--source", "a"], "nowhere is not a keat run"),
    ("columns", ["data", "info", "payments", "--src", "u"], "payments is known by name, so its columns are"),
    ("file name", ["data", "info", "order.csv"], "order.csv does not exist; did you mean 'orders.csv'?"),
]


@pytest.mark.parametrize(("arguments", "message"), [pytest.param(*row[1:], id=row[0]) for row in BAD_NAMES])
def test_an_unknown_name_gets_the_nearest(arguments: list[str], message: str, workplace: Path) -> None:
    write_orders(workplace)
    assert message in assert_fails(keat(*arguments))


def test_a_mistake_of_our_own_is_one_sentence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("keat.cli.data_command.describe", broken)
    ran = keat("data", "info", "payments:2000")
    assert (ran.code, ran.out) == (1, "")
    assert "something went wrong inside keat (ZeroDivisionError: oops); run again with --debug" in ran.err
    assert "Traceback" not in ran.err
    with pytest.raises(ZeroDivisionError):
        keat("data", "info", "payments:2000", "--debug")


def test_debug_shows_the_traceback() -> None:
    ran = process("data", "info", "nothing.csv", "--debug")
    assert ran.code == 1
    assert "Traceback (most recent call last)" in ran.err
    assert "keat.errors.InputError: The file nothing.csv does not exist" in ran.err


def test_the_installed_command_keeps_standard_output_for_json(workplace: Path) -> None:
    orders = write_orders(workplace)
    lines = orders.read_text().splitlines()
    orders.write_text("\n".join([lines[0], lines[9], *lines[1:9], *lines[10:]]) + "\n")
    ran = process("evaluate", "local-global", orders.name, *ORDERS, "--json")
    assert ran.code == 0
    assert ran.json["events"] == 60
    assert len(ran.notes) == 1
    assert "orders was not in time order (data row 2 is the first" in ran.notes[0]


@pytest.mark.parametrize("words", [["--help"], ["evaluate", "--help"]], ids=" ".join)
def test_help_and_import_do_not_wait_for_torch(words: list[str]) -> None:
    code = (
        f"import sys, contextlib, keat, keat.cli; sys.argv = ['keat', *{words}]\n"
        "with contextlib.suppress(SystemExit): keat.cli.main()\n"
        "print(sorted({'torch', 'numba', 'sklearn', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(os.name == "nt", reason="pipes end differently on Windows")
def test_a_reader_that_goes_away_is_no_error_worth_a_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "keat", "data", "list", "--json"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
