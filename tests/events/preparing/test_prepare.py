"""What is prepared in pieces is, to the byte, what is read in memory and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_logs import ALL, RNG, ROWS, WORDS, WRITERS, datetimes, log, parquet, text, whole_numbers
from small_pieces import assert_as_in_memory, prepare_in_pieces

from keat.errors import Notice
from keat.events import EventStream

LOGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all options": ({}, ALL),
    "no features": ({}, {}),
    "in order": ({"t": np.sort(whole_numbers(0, 60))}, ALL),
    "one time for most": ({"t": np.where(RNG.random(ROWS) < 0.8, 5, whole_numbers(0, 9))}, {}),
    "two crowded times": ({"t": np.where(RNG.random(ROWS) < 0.5, 5, 6)}, {}),
    "one far outlier": ({"t": np.append(whole_numbers(0, 60)[1:], 2**62)}, {}),
    "the last of all times": ({"t": np.full(ROWS, 2**63 - 1)}, {}),
    "dense integers": ({"src": np.arange(ROWS) % 9, "dst": np.arange(ROWS) % 13}, {}),
    "integers from 5": ({"src": whole_numbers(5, 15), "dst": whole_numbers(5, 30)}, {}),
    "negative integers": ({"src": whole_numbers(-15, 15), "dst": whole_numbers(-5, 30)}, {}),
    "sparse integers": ({"src": whole_numbers(0, 2**62), "dst": whole_numbers(-(2**62), 0)}, {}),
    "two kinds of integers": ({"src": whole_numbers(0, 9), "dst": whole_numbers(5, 9)}, {"bipartite": True}),
    "two kinds of text": ({}, {"bipartite": True}),
    "integers and text": ({"src": whole_numbers(0, 9)}, {}),
    "two kinds, integers and text": ({"src": whole_numbers(0, 9)}, {"bipartite": True}),
    "zeros before": (
        {"src": np.array(["007", "7", "8"])[whole_numbers(0, 3)], "dst": whole_numbers(1, 9)},
        {},
    ),
    "names of nothing": ({"src": np.array(["NULL", "ann", "NA"])[whole_numbers(0, 3)]}, {}),
    "times with fractions": ({"t": np.round(RNG.random(ROWS) * 9, 3)}, {}),
    "a fraction at the end": ({"t": np.append(np.arange(ROWS - 1.0)[::-1], 0.5)}, {}),
    "float times in days": ({"t": whole_numbers(0, 60).astype(float)}, {"unit": "day"}),
    "coarse float times": ({"t": (2**26 + whole_numbers(0, 60)).astype(np.float32)}, {}),
    "milliseconds": ({}, {"unit": "ms"}),
    "datetimes": ({"t": datetimes()}, {}),
    "datetimes in zones": ({"t": datetimes().cast(pa.timestamp("us", "UTC"))}, {}),
    "datetimes in ns": ({"t": datetimes()}, {"unit": "ns"}),
    "dates": ({"t": datetimes().cast(pa.date32(), safe=False)}, {}),
    "a format": (
        {"t": pa.array([f"{1 + m % 28:02}.01.2024" for m in whole_numbers(0, 60)])},
        {"time_format": "%d.%m.%Y"},
    ),
    "labels with fractions": ({"fraud": RNG.random(ROWS)}, {"label": "fraud"}),
    "large features": ({"amount": RNG.random(ROWS) * 1e6}, {"features": ["amount"]}),
    "a weight": ({}, {"features": ["count"], "weight": "amount", "scale": True}),
    "many kinds": ({"kind": [f"k{k % 90}" for k in range(ROWS)]}, {"categorical": "kind"}),
    "kinds that are missing": ({"kind": [None if k % 7 == 0 else f" k{k % 3} " for k in range(ROWS)]}, ALL),
}


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize("what", LOGS)
def test_a_file_of_any_kind(what: str, file: str, tmp_path: Path) -> None:
    columns, options = LOGS[what]
    WRITERS[file](tmp_path / file, log(**columns))
    assert None is assert_as_in_memory([tmp_path / file], tmp_path / file, tmp_path, **options)


TYPED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "lists": ({"amount": [[float(k), 1.0, -k] for k in range(ROWS)]}, {"features": ["amount", "count"]}),
    "decimals": ({"amount": log()["amount"].cast(pa.decimal128(20, 12), safe=False)}, {"features": "amount"}),
    "categories": ({"src": log()["src"].dictionary_encode()}, {}),
    "categories of times": ({"t": pa.array(whole_numbers(0, 9)).dictionary_encode()}, {}),
    "text times": ({"t": [str(k) for k in whole_numbers(0, 60)]}, {}),
    "text times with a fraction": ({"t": [*map(str, whole_numbers(0, 60)[1:]), "7.5"]}, {}),
    "text datetimes": ({"t": datetimes().cast(pa.string())}, {}),
    "uint64": ({"src": whole_numbers(0, 9).astype(np.uint64), "dst": whole_numbers(0, 9)}, {}),
    "durations": ({"t": pa.array(whole_numbers(0, 60), pa.duration("s"))}, {"unit": "ms"}),
    "bytes": ({"src": log()["src"].cast(pa.binary())}, {}),
}


@pytest.mark.parametrize("what", TYPED)
def test_columns_with_types(what: str, tmp_path: Path) -> None:
    columns, options = TYPED[what]
    parquet(tmp_path / "log.parquet", log(**columns))
    assert None is assert_as_in_memory(
        [tmp_path / "log.parquet"], tmp_path / "log.parquet", tmp_path, **options
    )


@pytest.mark.parametrize("end", [".csv", ".parquet", ".arrow"])
def test_several_files_are_one(end: str, tmp_path: Path) -> None:
    table, write = log(), WRITERS[f"log{end}"]
    paths = [tmp_path / f"part-{k}{end}" for k in range(4)]
    for path, first, rows in zip(
        paths, (0, 90, 90, 91), (90, 0, 1, ROWS), strict=True
    ):  # the second is empty
        write(path, table.slice(first, rows))
    write(tmp_path / f"whole{end}", table)
    assert None is assert_as_in_memory(paths, tmp_path / f"whole{end}", tmp_path, **ALL)


def test_types_of_several_files_are_brought_together(tmp_path: Path) -> None:
    table = log(src=whole_numbers(0, 9), dst=whole_numbers(0, 9), t=np.arange(ROWS) // 3)
    narrow = table.slice(0, 90).set_column(0, "src", table["src"].slice(0, 90).cast(pa.int32()))
    narrow = narrow.set_column(3, "amount", narrow["amount"].cast(pa.float32()).cast(pa.float64()))
    parquet(tmp_path / "a.parquet", narrow)
    parquet(tmp_path / "b.parquet", table.slice(90))
    whole = pa.concat_tables([narrow, table.slice(90)], promote_options="permissive")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    assert None is assert_as_in_memory(paths, whole, tmp_path, features=["amount"])


def test_kinds_of_text_are_those_of_all_files(tmp_path: Path) -> None:
    """Whole numbers at first, fractions and words only at the end."""
    table = log(
        src=[*map(str, range(ROWS - 1)), "ann"],
        amount=[*map(str, range(ROWS - 1)), "0.5"],
        t=[*map(str, range(ROWS - 1)), "7.25"],
        fraud=["", *map(str, whole_numbers(0, 2)[1:])],
    )
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, rows in zip(paths, (table.slice(0, 120), table.slice(120)), strict=True):
        text(path, rows)
    text(tmp_path / "whole.csv", table)
    assert None is assert_as_in_memory(paths, tmp_path / "whole.csv", tmp_path, features=["amount"])


def test_features_in_a_matrix_and_of_nodes(tmp_path: Path) -> None:
    parquet(tmp_path / "log.parquet", log())
    np.save(tmp_path / "matrix.npy", RNG.normal(0, 3, (ROWS, 4)))
    nodes = pa.table({"node": WORDS[:25], "x": RNG.random(25), "y": RNG.random(25)})
    text(tmp_path / "nodes.csv", nodes)
    options = {"features": tmp_path / "matrix.npy", "node_features": tmp_path / "nodes.csv", "scale": True}
    assert None is assert_as_in_memory(
        [tmp_path / "log.parquet"], tmp_path / "log.parquet", tmp_path, **options
    )


def test_without_a_header_and_with_line_breaks_in_quotes(tmp_path: Path) -> None:
    rows = [f'"a\n{k % 5}";b{k % 7};{k * 37 % 101};{k / 4}' for k in range(ROWS)]
    (tmp_path / "log.txt").write_text("\n".join(rows))
    options = {"header": False, "delimiter": "semicolon", "features": "4"}
    assert None is assert_as_in_memory([tmp_path / "log.txt"], tmp_path / "log.txt", tmp_path, **options)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_small_log(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("log")
    rows = data.draw(st.integers(1, 40))
    ids = st.sampled_from(["1", "2", "03", "x", "NA", "-4", " y", "2.5"][: data.draw(st.integers(2, 8))])
    whole = st.one_of(st.integers(0, 5), st.integers(0, 2**40))
    times = data.draw(st.sampled_from([whole, st.floats(0, 9, width=32)]))
    columns = {
        "src": data.draw(st.lists(ids, min_size=rows, max_size=rows)),
        "dst": data.draw(st.lists(ids, min_size=rows, max_size=rows)),
        "t": data.draw(st.lists(times, min_size=rows, max_size=rows)),
        "x": data.draw(st.lists(st.floats(-9, 9, width=32), min_size=rows, max_size=rows)),
    }
    lines = ["src,dst,t,x", *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    options = {"features": "x", "bipartite": data.draw(st.booleans())}
    assert_as_in_memory([path], path, tmp_path, **options)


def test_what_was_prepared_is_said(tmp_path: Path) -> None:
    parquet(tmp_path / "log.parquet", log())
    with pytest.warns(Notice, match="not in time order"):
        prepared = prepare_in_pieces([tmp_path / "log.parquet"], tmp_path / "out", **ALL)
    stream = EventStream.open(tmp_path / "out")
    assert (prepared.events, prepared.nodes) == (len(stream), stream.num_nodes)
    assert (prepared.features, prepared.unit) == (stream.feature_dim, stream.unit)
    assert prepared.buckets > 3
    assert not prepared.continued
