"""`keat explain` and `keat analyze`: from a run to pages, pictures and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import assert_fails, keat

from keat.models.rank import RankConfig
from keat.runs.run import open_kept
from trained_runs import EVENTS, payments, small, trained


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stream of the runs as a file of a user's own."""
    stream = payments().stream
    path = tmp_path_factory.mktemp("own") / "payments.csv"
    names = [f"f{k}" for k in range(stream.feature_dim)]
    rows = [
        ",".join(map(str, [int(s), int(d), int(t), *f.tolist()]))
        for s, d, t, f in zip(stream.src, stream.dst, stream.t, stream.features, strict=True)
    ]
    path.write_text("\n".join([",".join(["who", "shop", "when", *names]), *rows]) + "\n")
    return path


def own(path: Path) -> list[str | Path]:
    columns = ["--src-column", "who", "--dst-column", "shop", "--time-column", "when"]
    return [path, *columns, "--features", ",".join(f"f{k}" for k in range(6)), "--unit", "s"]


def test_an_event_of_a_file(data: Path, tmp_path: Path) -> None:
    ran = keat(
        "explain",
        trained(small()),
        *own(data),
        "--event",
        str(EVENTS - 5),
        "--replay",
        "--out",
        tmp_path,
        "--json",
    )
    assert ran.code == 0, ran
    (told,) = ran.json["explanations"]
    assert told["t"] == int(payments().stream.t[EVENTS - 5])
    assert Path(told["page"]).read_text().startswith("<!doctype html>")
    assert Path(told["picture"]).stat().st_size > 10_000
    assert told["replayed"]["effect"] == told["replayed"]["if_older"] - told["replayed"]["as_it_was"] != 0
    assert {len(end["neighbors"]) for end in told["ends"]} <= set(range(1, 6))


def test_the_worst(data: Path, tmp_path: Path) -> None:
    ran = keat("explain", trained(small()), *own(data), "--worst", "2", "--out", tmp_path, "--json")
    ranks = [told["rank"] for told in ran.json["explanations"]]
    assert ranks == sorted(ranks, reverse=True)
    assert sorted(path.name for path in tmp_path.glob("*.html")) == [
        "explanation-1.html",
        "explanation-2.html",
    ]


def test_a_pair_for_a_person_to_read(tmp_path: Path) -> None:
    ran = keat("explain", trained(small()), "--src", "3", "--dst", "130", "--older", "12h", "--out", tmp_path)
    assert ran.code == 0, ran
    assert "3 → 130 scored" in ran.out
    assert "been 12 h older, the score would be" in " ".join(ran.out.split())
    assert "The page: " in ran.out
    assert "Δ: at the neighbour's last update" in " ".join(ran.out.split())


def test_a_time_is_written_like_a_date_or_a_number(tmp_path: Path) -> None:
    asked = ("explain", trained(small()), "--src", "3", "--dst", "130", "--out", tmp_path, "--json", "--time")
    (by_date,) = keat(*asked, "2030-05-31 13:45").json["explanations"]
    assert by_date["t"] == 1_906_465_500
    (by_number,) = keat(*asked, "1906465500").json["explanations"]
    assert by_number == by_date
    (elsewhere,) = keat(*asked, "2030-05-31T15:45+02:00").json["explanations"]
    assert elsewhere["t"] == by_date["t"]
    assert "'May' is no time; write a date like" in assert_fails(keat(*asked, "May"))


def test_an_event_without_a_past(data: Path, tmp_path: Path) -> None:
    ran = keat("explain", trained(small()), *own(data), "--event", "5", "--out", tmp_path)
    assert ran.code == 0, ran
    assert "faithfulness –" in ran.out
    assert "nan" not in ran.out
    assert "gone:" not in ran.out  # no legend of tables that are not there
    told = keat("explain", trained(small()), *own(data), "--event", "5", "--out", tmp_path, "--json").json
    assert told["explanations"][0]["deletion"]["faithfulness"] is None


def test_other_data_is_told(tmp_path: Path) -> None:
    ran = keat("explain", trained(small()), "payments:1500", "--event", "1400", "--out", tmp_path)
    assert ran.code == 0, ran
    assert "is not what the run was trained on" in " ".join(ran.err.split())


def test_a_pair_term_for_a_person_to_read(tmp_path: Path) -> None:
    run = trained(RankConfig(widths="3600,172800", hidden=16))
    ran = keat("explain", run, "--src", "3", "--dst", "130", "--out", tmp_path)
    assert ran.code == 0, ran
    assert "The pair term remembers about 1 h and 2 days." in ran.out
    assert "meetings of the pair" in ran.out
    assert "What counted most: " in ran.out
    older = keat("explain", run, "--src", "3", "--dst", "130", "--older", "3d", "--out", tmp_path)
    assert "keat-rank attends to no past event that could be older" in assert_fails(older)


def test_one_candidate_against_another(tmp_path: Path) -> None:
    run = trained(RankConfig(widths="3600,172800", hidden=16))
    asked = ("explain", run, "--src", "3", "--out", tmp_path)
    best, second = open_kept(run).rank(3, top=2)["destination"].to_pylist()
    ran = keat(*asked, "--dst", str(second), "--against", "first")
    assert ran.code == 0, ran
    shown = " ".join(ran.out.split())
    assert shown.startswith(f"{second} ranks 2nd of ")
    assert f"{second} against {best}" in shown
    assert "Rank without: that of" in shown
    (told,) = keat(*asked, "--dst", str(second), "--against", str(best), "--json").json["explanations"]
    assert told["contrast"]["other"] == best
    assert told["contrast"]["difference"] == told["score"] - told["contrast"]["score"] < 0
    assert f"<h2>{second} against {best}</h2>" in Path(told["page"]).read_text()


def test_what_cannot_be_contrasted_is_one_sentence(tmp_path: Path) -> None:
    run = trained(RankConfig(widths="3600,172800", hidden=16))
    pair = ("--src", "3", "--dst", "130", "--out", tmp_path, "--against")
    assert "130 cannot be contrasted with itself" in assert_fails(keat("explain", run, *pair, "130"))
    assert "'nobody' is not" in assert_fails(keat("explain", run, *pair, "nobody"))
    without = keat("explain", trained(small()), *pair, "131")
    assert "has no pair term" in assert_fails(without)


ONE_OF_THREE = "Give exactly one of --src with --dst, --event and --worst."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), ONE_OF_THREE),
        (("--src", "3"), ONE_OF_THREE),
        (("--src", "3", "--dst", "4", "--event", "1"), ONE_OF_THREE),
        (("--worst", "1", "--against", "4"), "--against is of a pair; give --src with --dst."),
        (("--worst", "1", "--split", "x"), "'x' is not a split to score; use val or test."),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], message: str) -> None:
    ran = keat("explain", trained(small()), *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in " ".join(ran.err.replace("│", " ").split())


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    run = trained(small())
    assert "is no duration" in assert_fails(
        keat("explain", run, "--src", "3", "--dst", "4", "--older", "soon")
    )
    assert "is not a keat run" in assert_fails(keat("explain", tmp_path, "--src", "3", "--dst", "4"))
    assert "Events are explained from the dataset they are in; give that, too." in assert_fails(
        keat("explain", run, "--event", "3", "--out", tmp_path)
    )


def test_moments() -> None:
    told = keat("analyze", "moments", "payments:2000", "--json").json
    for entry in told["ratios"]:
        assert entry["measured"] == pytest.approx(entry["closed_form"], rel=1e-9)
        assert entry["closed_form"][3] == pytest.approx((1 + entry["rate"]) ** -4)
    assert told["coefficients"]["cos ωΔ"][1::2] == [0, 0, 0]
    assert len(told["datasets"]["payments"]) == 11
    assert "R_n" in keat("analyze", "moments").out


def test_attention_of_runs(data: Path, tmp_path: Path) -> None:
    runs = [trained(small()), trained(small(kernel="identity"))]
    columns = ["--src", "who", "--dst", "shop", "--time", "when", "--unit", "s"]
    features = ["--features", ",".join(f"f{k}" for k in range(6))]
    picture = tmp_path / "v.png"
    ran = keat("analyze", "attention", *runs, "--data", data, *columns, *features, "--out", picture, "--json")
    assert ran.code == 0, ran
    first, second = ran.json["runs"]
    assert (first["kernel"], second["kernel"]) == ("laplacian", "identity")
    assert second["blur"]["kernel_response"] == 0 < first["blur"]["kernel_response"]
    assert picture.stat().st_size > 10_000
    shown = keat("analyze", "attention", runs[0], "--data", data, *columns, *features)
    assert "Variance of logits" in shown.out
