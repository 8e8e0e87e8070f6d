"""The base of every table of the language: strict, frozen, and helpful about keys that it does not know.

A table also says where its keys stand in the plan (`PLAN`), which `planning.py` uses in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from voxpath.names import did_you_mean

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path
    from voxpath.scenario.traces import Traces


@dataclass(frozen=True)
class From:
    """What a key of the plan holds that is more than the value of a key.

    Attributes:
        key: The table's key that it comes from, where problems with it are reported.
        value: What it holds, from the table and the scenario's files: a table, a list or plain values.
        also: Other keys of the table that it is made of.
        source: The file and line that a place in the value was read from, where it was read from a file.
    """

    key: str
    value: Callable[[Any, Traces], Any]
    also: tuple[str, ...] = ()
    source: Callable[[Any, Path, Traces], str] | None = None


@dataclass(frozen=True)
class Outside(From):
    """The same, of a key that stands in the plan beside the table's own part, not in it."""


Keys = Mapping[str | int, str | From]
"""Keys of a table's part of the plan (indices where it is a list), and what of the table each comes from."""


class Table(BaseModel):
    """A table of a scenario.

    A key stands in the plan under its own name, with the unit of its type behind it: `target` is `target_ns`.
    `PLAN` has the keys of the plan of which this is not so.
    """

    PLAN: ClassVar[Keys] = {}

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Says of an unknown key which keys there are: only the table itself knows that."""
        try:
            return handler(data)
        except ValidationError as error:
            lines = error.errors(include_url=False)
            details = [cls._detail(line) for line in lines if not _follows_from_others(line)]
            raise ValidationError.from_exception_data(cls.__name__, details) from None

    @classmethod
    def _detail(cls, line: Any) -> InitErrorDetails:
        message = explain(line)
        loc = line["loc"]
        if line["type"] == "extra_forbidden" and len(loc) == 1:
            keys = [field.alias or name for name, field in cls.model_fields.items()]
            message = f"unknown key; {did_you_mean(str(loc[0]), keys)}"
        if line["type"].startswith("union_tag_"):
            loc = (*loc, "kind")
        return _detail(loc, message, line["input"])


def _follows_from_others(line: Any) -> bool:
    """Whether a list is called too short only because its elements have errors of their own."""
    given = line["input"]
    return line["type"] == "too_short" and isinstance(given, list) and len(given) >= line["ctx"]["min_length"]


def faults(*found: tuple[Path, str]) -> ValidationError:
    """What a table's own check raises: for each fault its place, from the table down, and what is wrong."""
    return ValidationError.from_exception_data(
        "contradictory options", [_detail(loc, message, None) for loc, message in found]
    )


def _detail(loc: Path, message: str, value: object) -> InitErrorDetails:
    # The message is a value, not a template: what it quotes may hold braces.
    kind = PydanticCustomError("voxpath", "{message}", {"message": message})
    return InitErrorDetails(type=kind, loc=loc, input=value)


_EXPLANATIONS = {
    "missing": "is missing",
    "string_type": "must be a text in quotes",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
}


def explain(line: Any) -> str:
    """One of pydantic's errors in the words of the language."""
    kind: str = line["type"]
    context = line.get("ctx", {})
    if kind in _EXPLANATIONS:
        return _EXPLANATIONS[kind]
    if kind == "voxpath":
        return str(context["message"])
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        allowed = context["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        return f"{line['input']!r} is not one of them; {did_you_mean(str(line['input']), allowed)}"
    if kind == "union_tag_invalid":
        # A text is no kind of table.
        allowed = [tag for tag in context["expected_tags"].replace("'", "").split(", ") if tag != "text"]
        return f"kind {context['tag']!r} is unknown; {did_you_mean(context['tag'], allowed)}"
    if kind == "union_tag_not_found":
        return "is missing: it says which keys the table has"
    if kind == "string_pattern_mismatch":
        return (
            f"{line['input']!r} is not a name: letters, digits, '_', '.' and '-', at most 64 of them, "
            "the first a letter or digit"
        )
    if kind in {"too_short", "too_long"}:
        bound = "min_length" if kind == "too_short" else "max_length"
        word = "at least" if kind == "too_short" else "at most"
        return f"has {context['actual_length']} elements: {word} {context[bound]} are needed"
    if kind.startswith(("greater_than", "less_than")):
        bound, word = {
            "greater_than": ("gt", "above"),
            "greater_than_equal": ("ge", "at least"),
            "less_than": ("lt", "below"),
            "less_than_equal": ("le", "at most"),
        }[kind]
        return f"{line['input']!r} is out of range: must be {word} {context[bound]}"
    return str(line["msg"])
