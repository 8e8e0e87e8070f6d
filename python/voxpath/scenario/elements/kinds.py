"""Values that are a text or a table of a kind; and the families of elements, whose kinds the engine lists.

Each kind has a file of its name in the folder of its family, here and in `crates/net/src/element/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args

from pydantic import Discriminator, Field, GetCoreSchemaHandler, Tag

from voxpath import _engine
from voxpath.scenario.table import Table

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

TEXT = "text"
"""The tag of what is no table."""


def _tag(value: object) -> str | None:
    if not isinstance(value, dict):
        return TEXT
    kind = value.get("kind")
    return kind if kind is None else str(kind)


BY_KIND = Discriminator(_tag)
"""Tells tables by their kind; everything else is a text."""


Planned = dict[str, Any]
"""A part of a plan."""

_Element = TypeVar("_Element", bound=Table)


def tables_of(family: str, base: type[_Element]) -> tuple[type[_Element], ...]:
    """The tables of a family, in the engine's order; a kind may be written in more than one way."""
    modules = [import_module(f"{__package__}.{family}.{kind}") for kind in _engine.kinds(family)]
    return tuple(
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__
    )


def tables_in(package: str, family: str, base: type[_Element]) -> dict[str, type[_Element]]:
    """The table of each kind of a family, in the engine's order, from the module of its name in a package."""
    tables: dict[str, type[_Element]] = {}
    for kind in _engine.kinds(family):
        for value in vars(import_module(f"{package}.{kind}")).values():
            if (
                isinstance(value, type)
                and issubclass(value, base)
                and value.__module__ == f"{package}.{kind}"
            ):
                tables[kind] = value
    return tables


@dataclass(frozen=True)
class OneOf:
    """An annotation: a table of one of these kinds."""

    tables: tuple[type[Table], ...]

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        one_of = reduce(or_, self.tables)
        return handler.generate_schema(Annotated[one_of, Field(discriminator="kind")])


@dataclass(frozen=True)
class TextOrTable:
    """An annotation: a text, or a table of one of these kinds."""

    text: Any
    tables: tuple[type[Table], ...]

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        tagged = [
            Annotated[table, Tag(get_args(table.model_fields["kind"].annotation)[0])] for table in self.tables
        ]
        return handler.generate_schema(Annotated[Union[(Annotated[self.text, Tag(TEXT)], *tagged)], BY_KIND])
