"""What stands on a link and changes packets: a list of tables of kinds that have their modules here."""

from __future__ import annotations

from typing import Annotated

from voxpath.scenario.elements.kinds import OneOf, tables_of
from voxpath.scenario.elements.middleboxes.table import MiddleboxTable

Middlebox = Annotated[MiddleboxTable, OneOf(tables_of("middleboxes", MiddleboxTable))]
