"""Scales and categories come from training events, and stay what they were for every later file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
import torch

from keat.datasets.loading import load
from keat.disk import typed
from keat.errors import InputError, Notice
from keat.events import Reading, read_events
from keat.events.splitting import split
from keat.tasks.derived_labels import label_by_period

N = 200


def events(seed: int = 0, **columns: Any) -> pa.Table:
    rng = np.random.default_rng(seed)
    table = {
        "src": rng.integers(0, 9, N),
        "dst": 9 + rng.integers(0, 9, N),
        "t": np.arange(N),
        "amount": rng.normal(500, 100, N),
        "kind": rng.choice(["card", "cash", "cheque"], N).tolist(),
    }
    return pa.table(table | columns)


def test_numbers_are_standardized_by_the_training_split() -> None:
    amount = events()["amount"].to_numpy().astype(np.float32).astype(np.float64)
    stream = read_events(events(), features="amount", scale=True)
    train = len(split(stream).train)
    expected = (amount - amount[:train].mean()) / amount[:train].std()
    np.testing.assert_allclose(stream.features[:, 0], expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(stream.features[:train].std(), 1, rtol=1e-6)


def test_kinds_become_features_as_they_first_appear_and_one_for_others() -> None:
    kinds = ["b", "a", "b", None, "a", ""] * 30 + ["never seen before"] * 20
    stream = read_events(events(kind=kinds), features="amount", categorical="kind")
    assert stream.feature_dim == 1 + 3 + 1
    np.testing.assert_array_equal(stream.features[:6, 1:], np.eye(4)[[0, 1, 0, 2, 1, 2]])
    np.testing.assert_array_equal(stream.features[-20:, 1:], np.eye(4)[[3] * 20])
    np.testing.assert_array_equal(stream.features[:, 1:].sum(axis=1), 1)


def test_first_is_first_in_time_not_in_the_file() -> None:
    table = events(kind=["late"] * 100 + ["early"] * 100, t=np.roll(np.arange(N), 100))
    with pytest.warns(Notice, match="not in time order"):
        reading, stream = Reading(categorical=("kind",)).learn(table)
    assert reading.encoding is not None
    assert reading.encoding.events[0].categories == ("early", "late")
    np.testing.assert_array_equal(stream.features[:100, 0], 1)


def test_the_future_changes_nothing() -> None:
    """Whatever validation and test hold, training events and what is learned from them are the same bits."""
    reading = Reading(features=("amount", "kind"), categorical=("kind",), scale=True)
    table = events()
    learned, stream = reading.learn(table)
    end = len(split(stream).train)
    amount, kind = table["amount"].to_numpy().copy(), table["kind"].to_pylist()
    amount[end:], kind[end:] = 1e9, ["another"] * (N - end)
    changed = events(amount=amount, kind=kind)
    other, after = reading.learn(changed)
    assert learned == other
    np.testing.assert_array_equal(stream.features[:end], after.features[:end])
    np.testing.assert_array_equal(after.features[end:, -1], 1)  # one of the others
    amount[end - 1] += 1
    assert reading.learn(events(amount=amount, kind=kind))[0] != learned  # training does count


def test_the_split_learned_from_is_the_one_trained_on() -> None:
    """A coarse clock: the split is not at 70 % of rows."""
    table = events(t=np.arange(N) // 37)
    data = load(table, features="amount", scale=True)
    assert len(data.train) != int(0.7 * N)
    np.testing.assert_allclose(data.train.features.mean(), 0, atol=1e-6)


def test_later_files_are_read_with_what_was_learned(tmp_path: Path) -> None:
    reading = Reading(features=("amount",), categorical=("kind",), scale=True)
    learned, stream = reading.learn(events())
    kept = typed(Reading, json.loads(json.dumps(asdict(learned))))
    np.testing.assert_array_equal(kept.read(events()).features, stream.features)
    pacsv.write_csv(events()[150:].set_column(4, "kind", [["cash"] * 49 + ["new"]]), tmp_path / "later.csv")
    again, later = kept.learn(tmp_path / "later.csv")
    assert again == kept
    np.testing.assert_array_equal(later.features[:, 0], stream.features[150:, 0])
    assert later.features.shape == (50, 5)
    np.testing.assert_array_equal(later.features[-1, 1:], [0, 0, 0, 1])
    data = load(tmp_path / "later.csv", reading=kept)
    np.testing.assert_array_equal(data.stream.features, later.features)


def test_at_most_64_values_have_a_feature() -> None:
    kinds = [f"k{row % 100:02}" for row in range(N)]
    with pytest.warns(
        Notice, match="'kind' has 100 values in training; the 64 most frequent have a feature each.* share"
    ):
        stream = read_events(events(kind=kinds), categorical="kind")
    assert stream.feature_dim == 65
    np.testing.assert_array_equal(stream.features[:100].argmax(axis=1), np.minimum(np.arange(100), 64))


def test_rare_values_share_a_feature_whenever_they_come() -> None:
    """Of 76 values the 12 that occur once, and first, are rare; of each other value training has two."""
    rare = [f"rare {row}" for row in range(12)]
    frequent = [f"k{row % 64:02}" for row in range(N - 12)]
    with pytest.warns(Notice, match="has 76 values .* 8.6 % of events, share one"):
        stream = read_events(events(kind=rare + frequent), categorical="kind")
    np.testing.assert_array_equal(stream.features[:12].argmax(axis=1), 64)
    np.testing.assert_array_equal(stream.features[12:76].argmax(axis=1), np.arange(64))


def test_a_linear_layer_of_one_hot_features_is_an_embedding() -> None:
    """A vector is looked up, and learned, for each kind; those that training does not have share one."""
    kinds = ["cash", "card", "cash", "wire", "card"] * (N // 5 - 1) + ["new", "newer", "cash", "card", "wire"]
    features = torch.from_numpy(read_events(events(kind=kinds), categorical="kind").features)
    layer = torch.nn.Linear(features.shape[1], 8, bias=False)
    looked_up = torch.nn.Embedding(features.shape[1], 8, _weight=layer.weight.T.detach().clone())
    number = {"cash": 0, "card": 1, "wire": 2}
    codes = torch.tensor([number.get(kind, 3) for kind in kinds])
    torch.testing.assert_close(layer(features), looked_up(codes))
    for told in (layer(features), looked_up(codes)):
        (told**2).sum().backward()
    assert layer.weight.grad is not None
    assert looked_up.weight.grad is not None
    torch.testing.assert_close(layer.weight.grad.T, looked_up.weight.grad)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2] * 100),
        pa.array(["1", "2"] * 100).dictionary_encode(),
        pa.array([True, False] * 100),
        pa.array([b"1", b"2"] * 100),
    ],
    ids=lambda column: str(column.type),
)
def test_kinds_of_every_type(column: pa.Array) -> None:
    features = read_events(events(kind=column), categorical=["kind"]).features
    np.testing.assert_array_equal(features, np.tile(np.eye(3)[:2], (100, 1)))


def test_kinds_in_a_csv_are_as_they_are_written(tmp_path: Path) -> None:
    rows = [f"a,b,{t},{'007' if t % 2 else ' 7'}\n" for t in range(20)]
    (tmp_path / "e.csv").write_text("src,dst,t,code\n" + "".join(rows))
    learned, _ = Reading(categorical=("code",)).learn(tmp_path / "e.csv")
    assert learned.encoding is not None
    assert learned.encoding.events[0].categories == ("7", "007")


def test_a_matrix_is_scaled_too(tmp_path: Path) -> None:
    matrix = np.random.default_rng(1).normal(50, 7, (N, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", matrix)
    data = load(events(), features=tmp_path / "x.npy", scale=True)
    np.testing.assert_allclose(data.train.features.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(data.train.features.std(axis=0), 1, rtol=1e-5)


def test_what_does_not_vary_becomes_zero() -> None:
    constant = np.full(N, 1_234.567)
    constant[-1] = 1_236.567
    stream = read_events(events(amount=constant), features="amount", scale=True)
    np.testing.assert_allclose(stream.features[:-1], 0, atol=1e-3)
    np.testing.assert_allclose(stream.features[-1], 2, atol=1e-3)


def test_large_numbers_are_told_of_unless_they_are_scaled() -> None:
    large = events()["amount"].to_numpy() * 10
    message = "column 'amount': values reach [0-9],[0-9]{3} and are not scaled.*standardized .scale."
    with pytest.warns(Notice, match=message):
        reading, plain = Reading(features=("amount",)).learn(events(amount=large))
    np.testing.assert_array_equal(plain.features[:, 0], large.astype(np.float32))
    reading.read(events(amount=large))  # said once
    read_events(events(amount=large), features="amount", scale=True)
    read_events(events(amount=large), weight="amount")  # a weight is shown as its logarithm


def test_a_weight_is_never_scaled() -> None:
    weight = np.random.default_rng(2).uniform(1, 5, N)
    kinds = [["card", "cash"][row % 2] for row in range(N)]
    data = load(events(w=weight, kind=kinds), categorical="kind", weight="w", scale=True)
    assert data.reading is not None
    position = data.reading.position("w")
    assert position == 3
    np.testing.assert_array_equal(data.stream.features[:, position], weight.astype(np.float32))
    labelled = label_by_period(data, 10, weight=position)
    assert labelled.reading == data.reading
    np.testing.assert_allclose(labelled.stream.features[:, position], np.log1p(weight), rtol=1e-6)


def test_events_that_a_task_leaves_out_would_move_the_split() -> None:
    src = events()["dst"].to_numpy().copy()
    src[1:] = events()["src"].to_numpy()[1:]
    with pytest.raises(
        InputError, match=r"join a node with itself; .* is another, so drop them from the file"
    ):
        label_by_period(load(events(src=src), features="amount", scale=True), 10)


BAD: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (
        "text",
        {},
        {"features": "kind"},
        r"column 'kind', data row 1: '\w+' is not a number; .* as categorical\.",
    ),
    (
        "float kinds",
        {},
        {"categorical": "amount"},
        "column 'amount': the values are double, not kinds; give te",
    ),
    (
        "matrix",
        {},
        {"features": "x.npy", "categorical": "kind"},
        "'kind' names a column, so the features must",
    ),
    (
        "both",
        {},
        {"weight": "kind", "categorical": "kind"},
        "'kind' is a weight, so it cannot be categorical",
    ),
    ("no such", {}, {"categorical": "kinds"}, "has no column 'kinds' .did you mean 'kind'"),
    ("one time", {"t": np.zeros(N, int)}, {"categorical": "kind"}, "events is too short to split"),
]


@pytest.mark.parametrize(("columns", "options", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_what_is_wrong_is_one_sentence(
    columns: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read_events(events(**columns), **options)
    assert str(raised.value).endswith((".", "?"))


def test_a_later_file_of_another_layout_is_refused() -> None:
    lists = pa.array([[1.0, 2.0]] * N)
    learned, _ = Reading(features=("amount",)).learn(events(amount=lists))
    with pytest.raises(InputError, match="column 'amount': it has 1 values in each row where 2 are known"):
        learned.read(events())


def test_a_later_value_too_far_away_is_refused() -> None:
    learned, _ = Reading(features=("amount",), scale=True).learn(events(amount=np.linspace(0, 1e-3, N)))
    with pytest.raises(InputError, match=r"1e\+37 is too far from the mean of training \(.*\) to be scaled"):
        learned.read(events(amount=np.full(N, 1e37)))
