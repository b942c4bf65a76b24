"""Answers are tables: for frames, files, notebooks, and whatever else reads Arrow."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from keat.errors import InputError, MissingExtraError
from keat.runs import Answer

TABLE = pa.table(
    {
        "source": ["C-001", "<b>bold</b>", 'a "quoted", name'],
        "rank": [1, 2, 3],
        "score": [0.123456, -1.5, 2.0],
    }
)
ANSWER = Answer(TABLE, 'At 5; scores & <i>shares</i> of "all".')


def test_it_is_its_table() -> None:
    assert len(ANSWER) == 3
    assert ANSWER.column_names == ["source", "rank", "score"]
    assert ANSWER["rank"].to_pylist() == [1, 2, 3]
    assert ANSWER.to_pylist() == TABLE.to_pylist()
    with pytest.raises(KeyError):
        ANSWER["nothing"]


def test_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = ANSWER.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.to_dict("list") == TABLE.to_pydict()
    polars = pytest.importorskip("polars")
    other = ANSWER.to_polars()
    assert isinstance(other, polars.DataFrame)
    assert other.to_dict(as_series=False) == TABLE.to_pydict()


@pytest.mark.parametrize("missing", ["pandas", "polars"])
def test_what_is_not_installed_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    if missing == "pandas":  # Arrow looks for it once, and remembers

        class WithoutPandas:
            def to_pandas(self) -> None:
                raise ImportError("No module named 'pandas'")

        answer = Answer(WithoutPandas())
    else:
        answer = ANSWER
    with pytest.raises(MissingExtraError, match=rf"{missing} is not installed; pip install 'keat\[frames\]'"):
        getattr(answer, f"to_{missing}")()


def test_whatever_reads_arrow_takes_it_as_it_is() -> None:
    """By the PyCapsule protocol, without knowing of keat."""
    assert pa.table(ANSWER).equals(TABLE)
    assert pa.RecordBatchReader.from_stream(ANSWER).read_all().equals(TABLE)
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(ANSWER).to_dict(as_series=False) == TABLE.to_pydict()
    wider = pa.schema([("source", pa.large_string()), ("rank", pa.int64()), ("score", pa.float64())])
    assert pa.table(ANSWER, schema=wider).schema == wider


@pytest.mark.parametrize("as_path", [True, False])
def test_files(as_path: bool, tmp_path: Path) -> None:
    for name in ("answer.csv", "answer.parquet"):
        place = tmp_path / name
        assert ANSWER.write(place if as_path else str(place)) == place
    assert pacsv.read_csv(tmp_path / "answer.csv").equals(TABLE)
    assert pq.read_table(tmp_path / "answer.parquet").equals(TABLE)
    ANSWER.write(tmp_path / "answer.csv")  # again
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.csv", "answer.parquet"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name in ("answer", "answer.xlsx", "answer.csv.gz"):
        with pytest.raises(InputError, match=r"let its name end in \.csv or \.parquet"):
            ANSWER.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_notebooks_show_text_as_text() -> None:
    page = ANSWER._repr_html_()
    assert "<b>bold</b>" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "a &quot;quoted&quot;, name" in page
    assert "scores &amp; &lt;i&gt;shares&lt;/i&gt;" in page
    assert "<td>0.1235</td>" in page
    assert "more rows" not in page
    odd = Answer(pa.table({"<script>alert(1)</script>": [None]}))
    assert "<script>" not in odd._repr_html_()


def test_long_tables_are_cut_and_say_so() -> None:
    long = Answer(pa.table({"node": list(range(1_234))}), "Nodes.")
    page = long._repr_html_()
    assert page.count("<tr>") == 1 + 20
    assert "Nodes. 1,214 more rows." in page
    assert repr(long).startswith("node\n0\n1\n")
    assert repr(long).endswith("\n19\nNodes. 1,214 more rows.")
    assert "1233" not in repr(long)
    assert "<tbody></tbody>" in Answer(pa.table({"node": pa.array([], pa.int64())}))._repr_html_()
