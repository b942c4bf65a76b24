"""Options out of range, of every verb; what does not go together; nodes and times that are not there."""

from __future__ import annotations

from command import ORDERS
from workplace import COLUMNS, SHOP, TGN, Bad

P = "payments:1000"
HUGE, EDGE = str(10**30), str(2**63 - 1)
NO_NUMBER = ("", "x", "nan", "1.5", HUGE, "-1", "0")  # of whole numbers that have to be at least 1
NO_FLOAT = ("", "x", "nan", "-1")
EVALUATE = ("evaluate", "edgebank", P)
SAMPLED = (*EVALUATE, "--negatives", "random")
PREDICT = ("predict", "run", "--source", "C-001")
EXPLAIN = ("explain", "run", "--src", "C-001", "--dst", SHOP)
OF_FILE = ("explain", "run", "orders.csv", *COLUMNS)
INFO = ("data", "info", "orders.csv", *ORDERS)
TRAIN = ("train", "keat-rank", P, "--epochs", "1", "--out", "new")
GEARSAGE = ("train", "gearsage", "graph.npz", "--epochs", "1", "--out", "new")

WHOLE: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = [  # command, option, values it does not take
    (TRAIN, "--epochs", NO_NUMBER),
    (TRAIN, "--patience", NO_NUMBER),
    (TRAIN, "--batch-size", NO_NUMBER),
    (TRAIN, "--train-negatives", NO_NUMBER),
    (TRAIN, "--threads", ("0", "-1", HUGE, "x", EDGE)),
    (TRAIN, "--seed", ("-1", "x", str(2**64), "1e3")),
    (TRAIN, "--eval-sample", NO_NUMBER),
    (TRAIN, "--lr", ("", "x")),
    (TRAIN, "--clip", (*NO_FLOAT, "inf")),
    (TRAIN, "--historical", ("", "x", "-1")),
    (TRAIN, "--positive", ("", "x")),
    (("train", "keat-tgn", P, "--out", "new"), "--width", (*NO_FLOAT, "0")),
    (GEARSAGE, "--epochs", ("0", "-1", "x")),
    (GEARSAGE, "--patience", ("0", "-1", "x")),
    (GEARSAGE, "--lr", (*NO_FLOAT, "inf")),
    (GEARSAGE, "--clip", (*NO_FLOAT, "0")),
    (GEARSAGE, "--seed", ("-1", str(2**64))),
    (GEARSAGE, "--width", (*NO_FLOAT, "0")),
    (EVALUATE, "--refresh", NO_NUMBER),
    (SAMPLED, "--num-negatives", NO_NUMBER),
    (SAMPLED, "--seed", ("-1", "x", str(2**64), "1e3")),
    (EVALUATE, "--eval-sample", NO_NUMBER),
    (PREDICT, "--top", NO_NUMBER),
    (PREDICT, "--time", ("", "x", "-5", "0", "1.5", "2023-12-31", "2024-13-01", str(2**63))),
    (("predict", "graphs", "--graph", "graph.npz"), "--top", ("0", "-1", "x")),
    (EXPLAIN, "--time", ("", "x", "-5", "0", "1.5", "2023-12-31", "2024-13-01", str(2**63))),
    (EXPLAIN, "--older", ("", "x", "-3d", "d", "3 moons", "nan", "inf", EDGE, f"{HUGE}y", "1e400s")),
    (OF_FILE, "--event", ("", "x", "-1", "400", EDGE, HUGE)),
    (OF_FILE, "--worst", ("", "x", "0", "-1", HUGE)),
    (("demo", "--out", "new"), "--events", ("", "x", "0", "999", "-1", HUGE, EDGE)),
    (("demo", "--out", "new"), "--epochs", NO_NUMBER),
    (("demo", "--out", "new"), "--seed", ("-1", "x", str(2**64))),
    (("reproduce", "table-params"), "--seeds", NO_NUMBER),
    (("reproduce", "table-params"), "--jobs", NO_NUMBER),
]
SETTINGS: list[tuple[str, str, str]] = [  # model, setting, told
    ("keat-tgn", "dim=0", "dim must be at least 1"),
    ("keat-tgn", "dim=65536", "not enough memory"),
    ("keat-tgn", "dim=99999999999999", "dim must be at least 1 and at most 65,536"),
    ("keat-tgn", "neighbors=0", "neighbors must be at least 1"),
    ("keat-tgn", "dropout=2", "dropout must be at least 0 and below 1"),
    ("keat-tgn", "dropout=nan", "dropout must be a number"),
    ("keat-tgn", "dropout=-1", "dropout must be at least 0"),
    ("keat-tgn", "heads=3", "3 heads cannot share a dim of 100"),
    ("keat-tgn", "heads=0", "heads must be at least 1"),
    ("keat-tgn", "neighbours=3", "did you mean 'neighbors'?"),
    *(("keat-tgn", setting, "") for setting in ("dim=-1", "dim=x", "dim=1.5", "dim=", "dim", "=8", "", "=")),
    ("keat-rank", "hidden=0", "hidden must be at least 1"),
    ("keat-rank", "ring=-3", "ring must be at least 1"),
    ("keat-rank", "hidden=99999999999999", "hidden must be at least 1 and at most 65,536"),
    ("keat-rank", "fanout=0", "fanout must be at least 1"),
    ("keat-rank", "ring=x", "ring is a int"),
    ("tgat", "layers=0", "layers must be at least 1"),
    ("tgat", "node_dim=-1", "node_dim must be at least 0"),
    ("tgat", "time_dim=0", "time_dim must be at least 1"),
    ("tgat", "neighbors=-5", "neighbors must be at least 1"),
    ("graphmixer", "token_expansion=0.001", "leaves nothing of 30"),
    ("graphmixer", "channel_expansion=inf", "channel_expansion must be above 0"),
    ("graphmixer", "token_expansion=nan", "token_expansion must be a number"),
    ("dygformer", "patch=0", "patch must be at least 1"),
    ("dygformer", "heads=7", "7 heads cannot share four channels of 200"),
    ("dygformer", "length=0", "length must be at least 1"),
    ("dygformer", "layers=-1", "layers must be at least 1"),
]
CHOICES: list[tuple[tuple[str, ...], str, str, str]] = [  # command, option, value, told
    (TRAIN, "--loss", "listwize", "did you mean 'listwise'?"),
    (TRAIN, "--loss", "", ""),
    (TRAIN, "--lr", "nan", "lr must be a number"),
    (TRAIN, "--lr", "inf", "lr must be at least 0 and finite"),
    (TRAIN, "--lr", "-1", "lr must be at least 0"),
    (TRAIN, "--clip", "0", "clip must be above 0"),
    (TRAIN, "--historical", "2", "historical must be at least 0 and at most 1"),
    (TRAIN, "--historical", "nan", "historical must be a number"),
    (TRAIN, "--recipe", "x", "Unknown recipe 'x'"),
    (TRAIN, "--preset", "papers", "did you mean 'paper'?"),
    (TRAIN, "--preset", "", "Unknown preset"),
    (TRAIN, "--preset", "paper", "keat-rank is in no table of the paper"),
    (GEARSAGE, "--preset", "paper", "gearsage has no --preset"),
    (TRAIN, "--device", "toaster", "cannot be used here"),
    (TRAIN, "--device", "cuda:99", "cannot be used here"),
    (TRAIN, "--device", "", "cannot be used here"),
    (TRAIN, "--task", "link-rankin", "did you mean"),
    (TRAIN, "--task", "node-label", ""),
    (TRAIN, "--kernel", "rbf", "has no --kernel"),
    (TRAIN, "--messages", "v2", "has no --messages"),
    (TRAIN, "--cooccurrence", "both", "has no --cooccurrence"),
    (TRAIN, "--protocol", "lenient", ""),
    (TRAIN, "--encoder", "run", "An encoder is for node tasks"),
    (TRAIN, "--node-labels", "nowhere.csv", "There is no file nowhere.csv"),
    (TRAIN, "--period", "blink", "is not a period"),
    (TRAIN, "--period", "0", ""),
    (TRAIN, "--period", "-5", ""),
    (TRAIN, "--period", "1.5", ""),
    (TRAIN, "--weight", "amount", "A weight says how much"),
    (TRAIN, "--unit", "fortnight", ""),
    (TRAIN, "--src", "u", ""),
    (("train", "keat-tgn", P, "--out", "new"), "--kernel", "sharp", ""),
    (("train", "keat-tgn", P, "--out", "new"), "--delta", "query-ish", ""),
    (("train", "keat-tgn", P, "--out", "new"), "--time-encoder", "sine", ""),
    (("train", "keat-tgn", P, "--out", "new"), "--modulate", "all", ""),
    (("train", "keat-tgn", P, "--out", "new"), "--messages", "v3", ""),
    (("train", "keat-tgn", P, "--out", "new"), "--pair-term", "some", ""),
    (("train", "dygformer", P, "--out", "new"), "--cooccurrence", "some", ""),
    (GEARSAGE, "--kernel", "laplace", "laplacian"),
    (GEARSAGE, "--delta", "sometimes", ""),
    (GEARSAGE, "--device", "toaster", "cannot be used here"),
    (EVALUATE, "--split", "train", ""),
    (EVALUATE, "--split", "[/b]", ""),
    (EVALUATE, "--task", ":x:", ""),
    (EVALUATE, "--task", "node-property", ""),
    (EVALUATE, "--negatives", "nobody", ""),
    (EVALUATE, "--negatives", "inductive", ""),
    (EVALUATE, "--negatives", "official", ""),
    (EVALUATE, "--labelled", "both", ""),
    (EVALUATE, "--node-labels", "pairs.csv", ""),
    (EVALUATE, "--period", HUGE, ""),
    (("evaluate", "persistent-forecast", P), "--period", HUGE, ""),
    (("evaluate", "persistent-forecast", P), "--period", EDGE, ""),
    (("evaluate", "persistent-forecast", P), "--protocol", "lenient", ""),
    (("evaluate", "heuristics", P), "--labelled", "both", ""),
    (EXPLAIN, "--split", "train", ""),
    (("update", "run", "later.csv"), "--late", "maybe", ""),
    *((INFO, "--delimiter", value, "") for value in ("", ";", "ab", "tab", "\n")),
    *((INFO, "--time-format", value, "") for value in ("", "%", "%Q", "yyyymmdd", "excel", "%H:%M", "soon")),
    *((INFO, "--categorical", value, "") for value in ("", "nope", "shop", "amount,")),
    *((INFO, "--node-features", value, "") for value in ("", "nowhere.csv", "orders.csv", ".", "saved")),
    (EXPLAIN, "--worst", "1", "exactly one of"),
    (EXPLAIN, "--event", "1", "exactly one of"),
    (("reproduce", "recipe.toml", "--data", "mine=saved"), "--engine", "steam", ""),
    (("reproduce", "table-link"), "--data", "wikipedia", "NAME=FILE"),
    (("reproduce", "table-link"), "--data", "wikipedia=nowhere.csv", "NAME=FILE"),
    (("reproduce", "table-link"), "--data", "=", ""),
]
TOGETHER: list[Bad] = [
    *(Bad(words) for words in (("predict",), ("predict", "run"), ("explain",), ("explain", "run"))),
    *(Bad(words) for words in (("analyze", "attention", "run"), ("reproduce",), ("train", "tgn"))),
    *(Bad(words) for words in (("data", "nonsense"), ("data", "list", "x"), ("evaluate", "edgebank"))),
    *(
        Bad(words)
        for words in (("data", "get"), ("data", "info"), ("data", "get", "../x"), ("data", "get", ""))
    ),
    *(Bad(("data", "get", name)) for name in ("payments", "tgbl-wikki", "orders.csv", "x" * 300)),
    Bad(("data", "list", "--nonsense")),
    Bad(("demo", "extra")),
    Bad((*TRAIN, "--recipe", "tgb-parity", "--loss", "listwise"), told="pairwise loss only"),
    Bad(("predict", "run", "--source", "C-001", "--pairs", "pairs.csv"), told="exactly one of"),
    Bad(("predict", "run", "--graph", "graph.npz"), told="is no run of a whole graph"),
    Bad(("predict", "graphs", "--source", "1"), told="use --graph FILE"),
    Bad(("predict", "graphs", "--embeddings", "new.parquet"), told="use --graph FILE"),
    Bad(("predict", "fraud", "--source", "C-001"), told="use --pairs"),
    Bad(("predict", "fraud", "--all-sources"), told="use --pairs"),
    Bad(("predict", "shares", "--pairs", "pairs.csv"), told="use --source"),
    Bad(("predict", "shares", "--all-sources"), told="use --source"),
    Bad(("predict", "graphs", "--all-sources"), told="use --graph FILE"),
    Bad(("predict", "run", "--source", "C-001", "--all-sources"), told="exactly one of"),
    Bad(("evaluate", "heuristics", P, "--scores", "new.csv"), told="Scores are those of one model; name it"),
    Bad((*EVALUATE, "--task", "link-classification", "--scores", "new.csv"), told="no score each"),
    Bad(("evaluate", "shares", "orders.csv", *ORDERS, "--scores", "new.csv"), told="no score each"),
    Bad(("explain", "run", "--src", "C-001"), told="exactly one of"),
    Bad(("explain", "run", "--worst", "1")),
    Bad(("explain", "run", "--event", "1", "--against", SHOP), told="--against is of a pair"),
    Bad((*EXPLAIN, "--against", "shop 2"), told="has no pair term"),
    Bad(("explain", "rank", "--src", "C-001", "--dst", SHOP, "--against", SHOP), told="with itself"),
    Bad(("explain", "rank", "--src", "C-001", "--dst", SHOP, "--against", "nobody")),
    Bad(("explain", "run", "--event", "1")),
    *(Bad(("explain", run, "--src", "C-001", "--dst", SHOP)) for run in ("fraud", "shares", "graphs")),
    Bad(("explain", "rank", "--src", "C-001", "--dst", SHOP, "--older", "3d"), told="leave --older out"),
    Bad(("explain", "rank", "--src", "C-001", "--dst", SHOP, "--replay")),
    *(
        Bad(("analyze", "attention", run, "--data", "orders.csv", *ORDERS))
        for run in ("rank", "fraud", "shares", "graphs")
    ),
    Bad(("analyze", "attention", "run", "run", "--data", P)),
    Bad(("evaluate", "run", P), told="features"),
    Bad(("evaluate", "shares", "orders.csv", *ORDERS, "--task", "link-ranking"), told="but the task is"),
    Bad(("evaluate", "fraud", "orders.csv", *ORDERS)),
    Bad(("evaluate", "run", "orders.csv", *ORDERS, "--task", "node-label")),
    Bad(("evaluate", "moving-average", P), told="predicts node properties"),
    Bad(("evaluate", "counts", P), told="predicts labels of events"),
    Bad(("evaluate", "tgn", P), told="has to be trained first"),
    Bad(("evaluate", "edgebnk", P), told="did you mean 'edgebank'"),
    Bad(("evaluate", "gearsage", "graph.npz")),
    Bad(("train", "edgebank", P, "--out", "new"), told="Unknown trainable model"),
    Bad(("train", "", P, "--out", "new")),
    Bad(
        ("train", "tgn", "orders.csv", *ORDERS, *TGN, "--encoder", "shares", "--label", "odd", "--out", "new")
    ),
    Bad(
        (
            "train",
            "tgn",
            "orders.csv",
            *ORDERS,
            *TGN,
            "--encoder",
            "orders.csv",
            "--label",
            "odd",
            "--out",
            "new",
        )
    ),
    Bad(("train", "tgn", "orders.csv", *ORDERS, *TGN, "--out", "run"), told="already holds a run"),
    Bad(("train", "tgn", "orders.csv", *ORDERS, *TGN, "--out", "run", "--resume"), told="holds another run"),
    Bad(
        ("train", "keat-rank", "orders.csv", *ORDERS, "--out", "graphs", "--resume"), told="holds another run"
    ),
    Bad(("train", "keat-tgn", "saved", *TGN, "--epochs", "3", "--lr", "0.003", "--out", "run", "--resume")),
    Bad((*GEARSAGE[:-1], "run", "--resume"), told="holds another run"),
    Bad(("predict", "run", "--source", ""), told="name of a node is empty"),
    Bad(("predict", "shares", "--source", "")),
    *(Bad(("update", run, "later.csv")) for run in ("fraud", "graphs", "nowhere", "orders.csv", "saved", "")),
    *(Bad(("update", "run", file)) for file in ("nowhere.csv", "", "run", "saved", "pairs.csv", "/dev/null")),
    Bad(("update", "run")),
    *(Bad(("explain", "run", "--src", who, "--dst", SHOP)) for who in ("", "nobody", "$x$", "\ud800")),
    *(Bad(("explain", "run", "--src", "C-001", "--dst", who)) for who in ("", "nobody", "a\nb")),
    *(
        Bad(("reproduce", name))
        for name in ("", "nonsense", "table-lnk", "figure-mismatch", "table-notation")
    ),
    *(
        Bad(("reproduce", name))
        for name in ("table-link", "figure-gaps", "figure-blurring", "table-dgraphfin")
    ),
]
OPTIONS: list[Bad] = [
    *(Bad((*words, f"{option}={value}")) for words, option, values in WHOLE for value in values),
    *(
        Bad(("train", model, P, "--set", setting, "--out", "new"), told=told)
        for model, setting, told in SETTINGS
    ),
    *(Bad((*words, f"{option}={value}"), told=told) for words, option, value, told in CHOICES),
    *TOGETHER,
]
ODD_OPTIONS: list[Bad] = [
    Bad((*PREDICT, "--top", EDGE)),
    Bad((*PREDICT, "--time", EDGE)),
    Bad((*PREDICT, "--time", "2030-01-31")),
    Bad(("predict", "run", "--source", "c-002"), told="did you mean 'C-002'?"),
    Bad(("predict", "shares", "--source", "nobody"), told="is new to this run"),
    *(
        Bad(("predict", "run", "--source", who), told="is new to this run")
        for who in ("nobody", "c-001", "[/b]", "$x$", "x" * 300, "a\nb")
    ),
    Bad((*EVALUATE, "--refresh", EDGE)),
    Bad((*SAMPLED, "--num-negatives", EDGE)),
    Bad((*SAMPLED, "--seed", EDGE)),
    Bad((*EVALUATE, "--eval-sample", EDGE)),
    Bad((*EXPLAIN, "--older", str(2**61))),
    Bad((*EXPLAIN, "--time", "2024-01-31")),
    Bad((*EXPLAIN, "--time", "2024-01-31 13:45")),
    Bad(("predict", "run", "--all-sources")),
    Bad(("predict", "run", "--all-sources", "--top", EDGE, "--out", "new/top.parquet")),
    Bad(("evaluate", "run", "orders.csv", *ORDERS, "--scores", "new/[/b] x.csv")),
    Bad((*TRAIN, "--batch-size", EDGE)),
    Bad((*TRAIN, "--seed", EDGE)),
    Bad((*TRAIN, "--lr", "0")),
    Bad(("analyze", "moments", "--out", "new/x.png")),
    Bad(("analyze", "moments", "--out", "without-a-suffix")),
    Bad(("reproduce", "table-params", "--jobs", EDGE)),
    Bad(("reproduce", "list")),
    Bad(("data", "list")),
]
