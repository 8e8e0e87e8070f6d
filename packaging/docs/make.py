"""The documentation site: `make docs` writes docs/site from the pages of the repository, checked for broken links.

Pages are laid out as in the repository, so their links hold. Beside them are pages that follow from the code: the functions of the package,
every key of a scenario from its schema, every column from the metric dictionary, and each study's report. Sphinx makes the site; a link that
leads nowhere fails it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.cli.main import cli
from voxpath.report.shell import CARD, asset
from voxpath.results.metrics import dictionary
from voxpath.scenario.schema import schema
from voxpath.studies import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
SITE = ROOT / "docs" / "site"

_LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```|~~~)")


class BrokenLinkError(ValueError):
    """A link that leads to no file."""


def pages() -> list[Path]:
    """The repository's pages."""
    top = [
        ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "LIMITATIONS", "CHANGELOG", "CONTRIBUTING")
    ]
    more = [*(ROOT / "benches").rglob("README.md"), ROOT / "fuzz" / "README.md"]
    studies = (ROOT / "python/voxpath/studies").glob("*/README.md")
    docs = (page for page in (ROOT / "docs").rglob("*.md") if SITE not in page.parents)
    return sorted([*top, *more, *studies, *docs])


def lay_out(sources: Path) -> None:
    """Copies the pages, and the files that they link to.

    Raises:
        BrokenLinkError: A link leads to no file; all of them are told.
    """
    known = set(pages())
    broken: list[str] = []
    for page in known:
        text = "\n".join(_linked(page, known, sources, broken))
        _write(sources / page.relative_to(ROOT), text + "\n")
    if broken:
        raise BrokenLinkError("\n".join(sorted(broken)))


def _linked(page: Path, known: set[Path], sources: Path, broken: list[str]) -> Iterator[str]:
    """The lines of a page, in which links to folders, which a site does not show, are plain."""
    is_code = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        is_code ^= _FENCE.match(line.strip()) is not None

        def link(found: re.Match[str], number: int = number) -> str:
            target = (page.parent / found["target"]).resolve()
            if target.is_dir():
                return found["text"].strip("[]")
            if not target.is_file():
                broken.append(f"{page.relative_to(ROOT)}:{number}: {found['target']} is no file")
            elif target not in known:
                copy = sources / target.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(target, copy)
            return found[0]

        yield line if is_code else _LINK.sub(link, line)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def scenario_page() -> str:
    """Every key of a scenario, from its schema: the file first, then each table that it names."""
    whole = schema()
    tables: dict[str, Any] = whole["$defs"]
    parts = [
        "# Every key of a scenario\n",
        "Made from the schema that `voxpath schema` prints. A key without a default is required.\n",
        "## The file\n",
        _keys(whole),
    ]
    for name, table in sorted(tables.items()):
        parts += [f"## {name}\n", f"{table.get('description', '')}\n"]
        parts.append(_keys(table) if "properties" in table else f"{_kind(table)}\n")
    return "\n".join(parts)


def _keys(table: Mapping[str, Any]) -> str:
    required = set(table.get("required", ()))
    rows = []
    for key, value in table["properties"].items():
        default = "" if key in required else f"`{json.dumps(value.get('default'), ensure_ascii=False)}`"
        rows.append((f"`{key}`", _kind(value), default, value.get("description", "")))
    return _table(("key", "what it is", "default", "meaning"), rows)


def _kind(value: Mapping[str, Any]) -> str:
    """What a value can be, with links to tables."""
    if reference := value.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf"):
        if key in value:
            return " or ".join(dict.fromkeys(_kind(one) for one in value[key]))
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    if value.get("type") == "array":
        return f"a list of {_kind(value['items'])}" if "items" in value else "a list"
    if value.get("type") == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"a table of {_kind(value['additionalProperties'])}"
    examples = value.get("examples")
    told = f", such as `{json.dumps(examples[0], ensure_ascii=False)}`" if examples else ""
    return f"{value.get('type', 'anything')}{told}"


def metrics_page() -> str:
    """Every table and its columns."""
    about = {table: told for table, told, _ in _engine.tables()}
    parts = [
        "# Every column of every table\n",
        "Made from the metric dictionary. `voxpath show` prints these.\n",
    ]
    for table, columns in sorted(dictionary().items()):
        parts += [f"## {table}\n", f"{about.get(table, '')}\n"]
        rows = [
            (f"`{name}`", metric.unit or "text", metric.clock or "", metric.where, metric.about)
            for name, metric in columns.items()
        ]
        parts.append(_table(("column", "unit", "clock", "where it is observed", "meaning"), rows))
    return "\n".join(parts)


def commands_page() -> str:
    """Every command, as its help says it."""
    parts = ["# Every command\n", "What `voxpath COMMAND --help` prints.\n"]
    names = [
        one
        for name, command in sorted(cli.commands.items())
        for one in (name, *(f"{name} {inner}" for inner in sorted(getattr(command, "commands", ()))))
    ]
    for name in names:
        done = subprocess.run(  # noqa: S603 - ours
            [sys.executable, "-m", "voxpath", *name.split(), "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        parts += [f"## voxpath {name}\n", f"```text\n{done.stdout.rstrip()}\n```\n"]
    return "\n".join(parts)


_API = """# Python

```{eval-rst}
.. automodule:: voxpath.api
   :members:
   :exclude-members: Result

.. autoclass:: voxpath.Result
   :members:
   :inherited-members:
```
"""


def _card(picture: str) -> str:
    """A picture with the style of reports, in a tree of its own: neither the site's style nor ours meets the other."""
    style = (asset("style.css") + asset("site.css")).replace(":root", ":host")
    drawn = f'<div class="card"><div class="picture">{picture}</div></div>'
    inside = f"<style>{style}</style>{drawn}".replace("\n", " ")
    return f'<div style="max-width: 24rem"><template shadowrootmode="open">{inside}</template></div>'


def studies(sources: Path, folder: Path | None) -> str:
    """The page of all studies, with the pictures of those whose reports are there.

    Args:
        sources: Of the site.
        folder: Where reports are, as `voxpath study` writes them.
    """
    parts = [
        "# Studies\n",
        "What publications claim, run again. Each has its page, and its report where one was made.\n",
    ]
    for name in NAMES:
        readme = f"python/voxpath/studies/{name}/README.md"
        parts += [f"## {name}\n", f"[What it claims, and what was found](../../{readme})\n"]
        report = folder / f"{name}.html" if folder is not None else None
        if report is None or not report.is_file():
            continue
        text = report.read_text("utf-8")
        _write(sources / "extra" / "reports" / report.name, text)
        parts.append(
            f'The report of its quick part: <a href="../../reports/{report.name}">{report.name}</a>.\n'
        )
        picture = re.search(rf'<template id="{CARD}">(.*?)</template>', text, re.DOTALL)
        if picture is not None:
            parts.append(f"```{{raw}} html\n{_card(picture[1])}\n```\n")
    return "\n".join(parts)


_INDEX = """# voxpath

What a network does to an application, with a given transport.

## Begin

```{{toctree}}
:maxdepth: 1

README
docs/README
docs/first-hour
{tutorial}
```

## Reference

```{{toctree}}
:maxdepth: 1

docs/reference/python
docs/reference/commands
docs/reference/scenario
docs/reference/metrics
{pages}
```

## Studies

```{{toctree}}
:maxdepth: 1

docs/reference/studies
{studies}
```

## Measured

```{{toctree}}
:maxdepth: 1

{measured}
```

## The project

```{{toctree}}
:maxdepth: 1

{project}
```
"""


def index() -> str:
    """The first page, on which every other one is listed once."""
    names = [str(page.relative_to(ROOT).with_suffix("")) for page in pages()]
    listed = {"README", "docs/README", "docs/first-hour"}
    groups: dict[str, list[str]] = {
        key: [] for key in ("tutorial", "pages", "studies", "measured", "project")
    }
    for name in names:
        if name in listed:
            continue
        match name.split("/"):
            case ["docs", "tutorial", _]:
                groups["tutorial"].append(name)
            case ["docs", "measured", *_]:
                groups["measured"].append(name)
            case ["docs", _]:
                groups["pages"].append(name)
            case ["python", *_]:
                groups["studies"].append(name)
            case _:
                groups["project"].append(name)
    return _INDEX.format(**{key: "\n".join(found) for key, found in groups.items()})


def main() -> int:
    """Makes the site; 1 if a link is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path, required=True, help="where pages are laid out")
    parser.add_argument("--reports", type=Path, help="a folder with reports of studies")
    parser.add_argument("--out", type=Path, default=SITE, help="the site")
    parser.add_argument("--sphinx", default=sys.executable, help="a Python that has Sphinx")
    options = parser.parse_args()
    shutil.rmtree(options.sources, ignore_errors=True)
    (options.sources / "extra").mkdir(parents=True)
    try:
        lay_out(options.sources)
    except BrokenLinkError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    reference = options.sources / "docs" / "reference"
    _write(reference / "python.md", _API)
    _write(reference / "scenario.md", scenario_page())
    _write(reference / "metrics.md", metrics_page())
    _write(reference / "commands.md", commands_page())
    _write(reference / "studies.md", studies(options.sources, options.reports))
    _write(options.sources / "index.md", index())
    shutil.copyfile(HERE / "conf.py", options.sources / "conf.py")
    shutil.rmtree(options.out, ignore_errors=True)
    # A reference that leads nowhere is a warning to Sphinx, and fails us. It reads docstrings in its own environment.
    command = [options.sphinx, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), *filter(None, sys.path[1:])]),
    }
    done = subprocess.run([*command, options.sources, options.out], env=environment, check=False)  # noqa: S603 - as told
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
