"""Why a pair scored as it did: past events, node and edge parts, what-ifs, as numbers, picture and page."""

from keat.explain.ends import End, Neighbor
from keat.explain.explanation import Explanation, explain_pair
from keat.explain.scored import Names, Scored, explain_by_pair_term

__all__ = ["End", "Explanation", "Names", "Neighbor", "Scored", "explain_by_pair_term", "explain_pair"]
