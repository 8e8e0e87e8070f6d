"""Applications: what the two ends of a flow do. Each has a file here, and one in `crates/apps/src/apps`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from voxpath.scenario.apps.table import AppTable
from voxpath.scenario.elements.kinds import OneOf, tables_in

if TYPE_CHECKING:
    from collections.abc import Mapping

APPS: Mapping[str, type[AppTable]] = tables_in(__name__, "apps", AppTable)
"""The table of each application, by its kind, in the engine's order."""

App = Annotated[AppTable, OneOf(tuple(APPS.values()))]
