"""`Run`: a trained model with all it has seen, in a folder. Every verb is a method of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keat.calibration.calibrations import Calibration
from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import EventStream, TimeUnit
from keat.events.written_times import spoken
from keat.models.contract import LearnedLinkModel
from keat.models.node_head import NodeHead
from keat.models.rank import KeatRank, StateMemory
from keat.runs.answer import Answer
from keat.runs.answers import Answers, later
from keat.runs.epochs import best_epoch, checking
from keat.runs.facts import RunFacts
from keat.runs.node_names import NodeNames
from keat.runs.present import Late, Observed, Present
from keat.runs.run_file import RunFile, read_ids, read_run_file
from keat.runs.run_model import Data, TrainedModel, open_model, task_of
from keat.runs.seen import Seen
from keat.runs.seen_files import Version, read_remembered, read_version, write_version
from keat.runs.spec import RunSpec
from keat.training.fit import EpochReport

if TYPE_CHECKING:
    from keat.explain import Explained
    from keat.report.html.report_page import Page
    from keat.runs.run_evaluation import SomeTask, Tested
    from keat.training.evaluate import Evaluation


class Run:
    """A trained run: what it is (``spec``), what its data were (``facts``), its folder, its model with what
    it remembers, and what its nodes are called.

    Make one with `keat.train`, get one back with `keat.open`. `observe` shows it what has happened since;
    `rank`, `score`, `shares`, `embeddings` and `explain` ask it; `evaluate` measures it, `report` makes a
    page of that; `save` keeps what it has seen. Nothing that is asked changes it.
    """

    def __init__(
        self,
        folder: Path,
        file: RunFile,
        best: EpochReport,
        present: Present | None,
        number: int = 0,
        device: str = "cpu",
    ) -> None:
        self.folder, self.file, self.best, self.device = folder, file, best, device
        self._seen, self._number = present, number
        self.epochs_now = 0  # epochs it was trained for by the call that made it

    # -- what it is ------------------------------------------------------------------------------------

    @property
    def spec(self) -> RunSpec:
        return self.file.spec

    @property
    def facts(self) -> RunFacts:
        return self.file.facts

    @property
    def present(self) -> Present:
        """What it has seen up to now."""
        if self._seen is None:
            raise InputError(
                f"{self.folder} labels the nodes of a whole graph, which has no stream to go on with; ask it "
                "for the most suspect of them, or evaluate it."
            )
        return self._seen

    @property
    def model(self) -> LearnedLinkModel | NodeHead:
        return self.present.model

    @property
    def names(self) -> NodeNames:
        """What its nodes are called, newcomers included."""
        return self.present.names

    @property
    def unit(self) -> TimeUnit:
        return self.facts.unit

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics of validation, at the epoch that was kept."""
        return self.best.val

    @property
    def calibration(self) -> Calibration | None:
        """What makes shares or probabilities of its scores, fitted on validation; None of an older run."""
        return self.best.calibration

    @property
    def events_seen(self) -> int:
        return self.present.seen.rows

    @property
    def last_time(self) -> int:
        """The last time of everything the run has seen."""
        return self.present.last_time

    @property
    def memory(self) -> StateMemory | None:
        """What its state takes of ``state_memory``, and how many pairs were forgotten for that; None where it
        has no such budget."""
        model = None if self._seen is None else self._seen.model
        return model.memory() if isinstance(model, KeatRank) else None

    def __repr__(self) -> str:
        metrics = ", ".join(f"{name} {value:.4f}" for name, value in self.metrics.items())
        return f"Run({self.spec.model} in {self.folder}: {self._up_to_now()}; validation {metrics})"

    def _up_to_now(self) -> str:
        if self._seen is None:
            return f"{self.facts.num_nodes:,} nodes of a whole graph"
        until = spoken(self.last_time, self.unit)
        return f"{self.events_seen:,} events seen, {len(self.names):,} nodes, up to {until}"

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>validation {escape(name)}</td><td>{value:.4f}</td></tr>"
            for name, value in self.metrics.items()
        )
        title = escape(f"{self.spec.model} on {self.facts.data.name}")
        where = escape(f"{self._up_to_now()}; kept in {self.folder}")
        return f"<p><b>{title}</b></p><table>{cells}</table><p><small>{where}</small></p>"

    # -- what has happened since -----------------------------------------------------------------------

    def observe(self, source: Any, *, late: Late = "refuse") -> Observed:
        """Rows that came since: a file, a frame or a stream, read as the training data was. New nodes join.

        Rows at the start that were seen before are left out: the file may be the old one, grown. Rows older
        than the last that was seen are an error, or with ``late="clamp"`` are observed as of that time.
        Nothing is kept in the folder before `save`.
        """
        present = self.present  # which a whole graph has not
        if self.spec.source.labels.target is not None and not isinstance(source, EventStream):
            raise InputError("A run of an attribute of events cannot go on with new files yet; train anew.")
        stream = source if isinstance(source, EventStream) else later(self.spec.source.reading).read(source)
        self.facts.require_features(stream.name, stream.feature_dim)
        return present.observe(stream, late)

    # -- questions -------------------------------------------------------------------------------------

    def rank(
        self, sources: str | int | Sequence[str | int] | None = None, *, at: Any = None, top: int = 10
    ) -> Answer:
        """The likeliest destinations of one source, of several, or of all that are known, best first: source,
        destination, rank, score, and the share each has among all known destinations."""
        answers = self._answers()
        if sources is None:
            sources = answers.known_sources()
        asked = [sources] if isinstance(sources, str | int) else list(sources)
        return answers.rank(asked, answers.moment(at), top)

    def score(self, pairs: Any, *, at: Any = None) -> Answer:
        """The score of each pair of a file, frame or stream, in its order: source, destination, time, score,
        and the probability where the run has one. Without a column of times they are asked ``at`` a time, by
        default right after what was seen. A run that labels events reads them with their features."""
        return self._answers().score(pairs, at)

    def shares(self, node: str | int, *, at: Any = None, top: int = 10) -> Answer:
        """How a node will divide its next period, of a run that was trained for node properties."""
        answers = self._answers()
        return answers.shares(node, answers.moment(at), top)

    def embeddings(self, *, at: Any = None) -> Answer:
        """The embedding of every node at a time."""
        answers = self._answers()
        return answers.embeddings(answers.moment(at))

    def explain(
        self,
        source: str | int,
        destination: str | int,
        *,
        at: Any = None,
        features: Mapping[str, Any] | None = None,
        against: str | int | None = None,
    ) -> Explained:
        """Why a pair scores as it does now or ``at`` a later time: ``.why`` says it in a plain sentence, and
        in a notebook it shows itself as a page. Of a run that labels events, why an event does that has these
        ``features``, by the names of their columns. With ``against``, why this destination and not that one,
        or not the one that ranks first (``"first"``): see ``.contrast``."""
        from keat.runs.run_subject import explain_pair

        return explain_pair(self, source, destination, at, features, against)

    def suspects(self, graph: str | Path | DGraphFin | None = None, *, top: int = 10) -> Answer:
        """The nodes that look most like frauds, with their probability, of a run of a whole graph. They are
        test nodes, whose labels training did not see."""
        from keat.runs.run_evaluation import most_suspect

        return most_suspect(self.folder, self.file, self.calibration, graph, top)

    def moment(self, at: Any = None) -> int:
        """A time as the stream has it, by default right after all that was seen; the past is refused."""
        return self._answers().moment(at)

    def _answers(self) -> Answers:
        head = self.facts.head
        first_class = 0 if head is None else head.first_class
        return Answers(self.present, self.spec.source.reading, self.calibration, first_class)

    # -- how good it is --------------------------------------------------------------------------------

    def validated_model(self) -> TrainedModel:
        """The model as it was after validation, which is where the test split begins."""
        return open_model(self.folder, self.file, self.device)

    def evaluate(
        self, data: Data | None = None, *, split: str = "test", refresh: int | None = None
    ) -> Evaluation:
        """Metrics on a split, of the data it was trained on where no others are given. It starts from the
        state after validation, or for other data from the first event; what the run has seen since does not
        matter and stays."""
        from keat.runs.run_evaluation import evaluate_run, usual_refresh_of

        data = self.open_data() if data is None else data
        task = task_of(self.spec, data, split)
        refresh = usual_refresh_of(self.spec, data) if refresh is None else refresh
        return evaluate_run(
            self.folder, data, task, split, file=self.file, refresh=refresh, device=self.device
        )

    def test(self, data: Data | None = None, task: SomeTask | None = None) -> Tested:
        """The test split, with the heuristics beside it and how far scores can be trusted. ``task`` is that
        of the test split, where it was made already."""
        from keat.runs.run_evaluation import tested

        return tested(self, self.open_data() if data is None else data, task)

    def report(self, data: Data | None = None, tested: Tested | None = None) -> Page:
        """A page on how it was trained and how good it is, written to ``report.html`` in its folder. Shows
        itself in a notebook. ``tested`` is what `test` found, if it was asked already."""
        from keat.runs.run_report import write_run_report

        data = self.open_data() if data is None else data
        return write_run_report(self, data, self.test(data) if tested is None else tested)

    def open_data(self) -> Data:
        """What it was trained on, read again."""
        spec = self.spec
        return spec.source.open_graph() if spec.is_of_graph else spec.source.open(spec.task)

    # -- keeping ---------------------------------------------------------------------------------------

    def save(self) -> None:
        """Keep what the run has seen in its folder, whole or not at all."""
        now = self.present
        version = Version(self._number + 1, self.best.epoch, now.seen)
        write_version(self.folder, version, now.names, now.tensors())
        self._number = version.number


def open_kept(folder: str | Path, device: str = "cpu") -> Run:
    """The run in a folder, as it was last saved."""
    folder = Path(folder)
    run = open_trained(folder, read_run_file(folder), device)
    version = None if run.spec.is_of_graph else read_version(folder)
    if version is not None and version.epoch == run.best.epoch:  # else it was trained on since
        names, tensors = read_remembered(folder, version)
        with checking(folder, "best"):
            run.present.restore(names, version.seen, tensors)
    return run


def open_trained(folder: Path, file: RunFile, device: str = "cpu") -> Run:
    """The run in a folder, as it was after validation: whatever it has seen since is forgotten."""
    if file.spec.is_of_graph:
        return Run(folder, file, best_epoch(folder), None, device=device)
    model = open_model(folder, file, device)
    assert isinstance(model, LearnedLinkModel | NodeHead)
    present = Present(model, file.facts.unit, NodeNames.of(read_ids(folder, file.facts.num_nodes)))
    version = read_version(folder)
    number = 0 if version is None else version.number
    return Run(folder, file, best_epoch(folder), present, number, device)


def has_seen_all(run: Run, data: Dataset) -> None:
    """Show a run, whose model knows everything before the test split, the rest of what it was trained on."""
    present = run.present
    present.seen = Seen().and_then(data.before("test"))
    present.names = NodeNames.of(data.stream.ids)
    present.advance(replace(data.test, labels=None, node_labels=None))
    present.seen = Seen().and_then(data.stream)
