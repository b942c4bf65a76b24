"""Why a pair scored as it did: past events, node and edge parts, what-ifs, as numbers, picture and page."""

from keat.explain.explanation import End, Explanation, Names, Neighbor, explain_pair

__all__ = ["End", "Explanation", "Names", "Neighbor", "explain_pair"]
