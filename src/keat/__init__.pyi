# The public names of keat and where each is at home, listed here and nowhere else: type checkers read this
# file, and so does `keat/__init__.py`, which imports a name when it is first used.
from keat.bandwidth import estimate_sigma as estimate_sigma
from keat.datasets.loading import Dataset as Dataset
from keat.datasets.loading import load as load
from keat.datasets.payments import simulate_payments as simulate_payments
from keat.errors import KeatError as KeatError
from keat.errors import Notice as Notice
from keat.events import EventStream as EventStream
from keat.events import IdMap as IdMap
from keat.events import NodeLabels as NodeLabels
from keat.events import read_events as read_events
from keat.events.splitting import split as split
from keat.models.contract import LinkModel as LinkModel
from keat.models.contract import NodeModel as NodeModel
from keat.models.contract import NodeQueries as NodeQueries
from keat.models.contract import Queries as Queries
from keat.models.registry import create_link_model as create_link_model
from keat.models.registry import create_node_model as create_node_model
from keat.patching import patch as patch
from keat.patching import unpatch as unpatch
from keat.runs import Answer as Answer
from keat.runs import Run as Run
from keat.runs import RunSpec as RunSpec
from keat.runs import open as open  # noqa: A004
from keat.runs import train as train
from keat.tasks.task_factory import make_task as make_task
from keat.training.evaluate import Evaluation as Evaluation
from keat.training.evaluate import evaluate as evaluate

__version__: str
