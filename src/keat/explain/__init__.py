"""Why a pair or an event scored as it did: in a plain sentence, in numbers, in a picture and on a page."""

from keat.explain.ends import End, Neighbor
from keat.explain.event import EventExplanation, Part, PastEvent, explain_event
from keat.explain.explained import Explained
from keat.explain.explanation import Explanation, explain_pair
from keat.explain.left_out import LeftEvent, LeftOut, explain_by_leaving_out
from keat.explain.scored import Names, Scored, explain_by_pair_term

__all__ = [
    "End",
    "EventExplanation",
    "Explained",
    "Explanation",
    "LeftEvent",
    "LeftOut",
    "Names",
    "Neighbor",
    "Part",
    "PastEvent",
    "Scored",
    "explain_by_leaving_out",
    "explain_by_pair_term",
    "explain_event",
    "explain_pair",
]
