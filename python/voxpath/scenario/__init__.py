"""The scenario language: what a user writes, checked as a whole, resolved into a plan.

Read `model` for the language, `load` for the way from a text to a `Document`, `resolve` for the plan.
A problem anywhere is reported with its key, line and column, and nothing runs until there is none.
"""

from voxpath.scenario.load import Cell, Document, from_dict, parse, read, read_network
from voxpath.scenario.problems import Problem, ScenarioError

__all__ = ["Cell", "Document", "Problem", "ScenarioError", "from_dict", "parse", "read", "read_network"]
