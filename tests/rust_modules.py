"""Which files of a Rust crate use which others, read from their paths and `use` declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Module = tuple[str, ...]
"""The path of a module below `crate`; the crate's root is empty."""

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'|\s+)
    |(?P<token>[A-Za-z_]\w*|::|.)""",
    re.DOTALL | re.VERBOSE,
)


def uses(source: Path) -> dict[Module, set[Module]]:
    """Each file of a crate with those that it uses; a re-exported item counts as its own file's.

    Args:
        source: The folder with `lib.rs`.
    """
    files = {_module(path.relative_to(source)): _tokens(path.read_text()) for path in source.rglob("*.rs")}
    said = {module: list(_paths(tokens)) for module, tokens in files.items()}
    offered = {
        module: {path.known_as: path.parts for path in paths if path.is_offered}
        for module, paths in said.items()
    }
    found: dict[Module, set[Module]] = {}
    for module, paths in said.items():
        used = (_file(path.parts, module, offered) for path in paths if not path.is_offered)
        found[module] = {file for file in used if file is not None and file != module}
    return found


def circles(used: Mapping[Module, set[Module]]) -> list[list[Module]]:
    """The sets of files that use each other, directly or through others."""

    def reached(start: Module) -> set[Module]:
        seen: set[Module] = set()
        waiting = [start]
        while waiting:
            for file in used[waiting.pop()] - seen:
                seen.add(file)
                waiting.append(file)
        return seen

    reach = {file: reached(file) for file in used}
    in_circles = [file for file in used if file in reach[file]]
    found = {tuple(sorted(other for other in reach[file] if file in reach[other])) for file in in_circles}
    return sorted(list(circle) for circle in found)


def name(module: Module) -> str:
    """As it is written in Rust."""
    return "::".join(("crate", *module))


def _module(path: Path) -> Module:
    parts = path.with_suffix("").parts
    return () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts


def _tokens(text: str) -> list[str]:
    """Names and signs, without comments, literals and unit tests."""
    tokens = [found["token"] for found in _TOKEN.finditer(text) if found["token"]]
    kept: list[str] = []
    test = ["#", "[", "cfg", "(", "test", ")", "]", "mod"]
    position = 0
    while position < len(tokens):
        if tokens[position : position + len(test)] == test:
            position = _after_block(tokens, position + len(test))
        else:
            kept.append(tokens[position])
            position += 1
    return kept


def _after_block(tokens: list[str], position: int) -> int:
    """Where the block ends that begins next."""
    depth = 0
    while True:
        depth += {"{": 1, "}": -1}.get(tokens[position], 0)
        position += 1
        if tokens[position - 1] == "}" and depth == 0:
            return position


@dataclass(frozen=True)
class _Path:
    """A path as it is written; of a declaration also the name that it gives, and whether it is `pub`."""

    parts: Module
    known_as: str = ""
    is_offered: bool = False


def _paths(tokens: list[str]) -> Iterator[_Path]:
    """Every path with a `::` in it, and those of declarations."""
    position = 0
    while position < len(tokens):
        if tokens[position] == "use":
            end = tokens.index(";", position)
            # `pub`, `pub(crate)`
            is_offered = position > 0 and tokens[position - 1] in ("pub", ")")
            for parts, known_as in _tree(tokens[position + 1 : end]):
                yield _Path(parts, known_as, is_offered)
            position = end
        elif tokens[position + 1 : position + 2] == ["::"] and _is_name(tokens[position]):
            parts = [tokens[position]]
            position += 1
            while tokens[position : position + 1] == ["::"] and _is_name(tokens[position + 1]):
                parts.append(tokens[position + 1])
                position += 2
            yield _Path(tuple(parts))
        position += 1


def _tree(tokens: list[str]) -> Iterator[tuple[Module, str]]:
    """The paths of a `use` declaration, `a::{b, c::d as e, self}`, and the names that it gives them."""
    prefix: list[str] = []
    path: list[str] = []
    outer: list[list[str]] = []
    alias = ""
    renamed = False
    for token in [*tokens, ","]:
        if token == "{":
            outer.append(prefix)
            prefix, path = [*prefix, *path], []
        elif token in (",", "}"):
            if path:
                whole = [*prefix, *path]
                if len(whole) > 1 and whole[-1] in ("self", "*"):
                    whole.pop()
                yield tuple(whole), alias or whole[-1]
            path, alias, renamed = [], "", False
            if token == "}":
                prefix = outer.pop()
        elif token == "as":
            renamed = True
        elif renamed:
            alias = token
        elif token != "::":
            path.append(token)


def _is_name(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"


def _file(path: Module, module: Module, offered: Mapping[Module, Mapping[str, Module]]) -> Module | None:
    """The file that a path leads to, seen from a module; none where it leads out of the crate."""
    place: Module
    match path[0]:
        case "crate":
            place, rest = (), path[1:]
        case "self":
            place, rest = module, path[1:]
        case "super":
            place, rest = module[:-1], path[1:]
        case first if (*module, first) in offered:
            place, rest = module, path
        case _:
            return None
    while rest and rest[0] == "super":
        place, rest = place[:-1], rest[1:]
    while rest and (*place, rest[0]) in offered:
        place, rest = (*place, rest[0]), rest[1:]
    onward = offered[place].get(rest[0]) if rest else None
    if onward is None:
        return place
    return _file(onward, place, offered)
