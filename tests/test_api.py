"""voxpath from Python: whatever names a scenario is taken everywhere."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import voxpath
from conftest import SMALL
from reports import text_of
from voxpath import options
from voxpath.cli.main import cli
from voxpath.options import Option
from voxpath.scenario import ScenarioError

FORMULA = """\
from voxpath.formulas import Formula

TRANSFER_FORMULAS = (Formula("always_2", ("completion_s",), lambda transfer: {"completion_s": 2.0}),)
"""

WAYS: dict[str, Callable[[Any, Path], set[str]]] = {
    "run": lambda source, out: {row.estimator for row in voxpath.run(source, out=out).rows},
    "sweep": lambda source, out: set(voxpath.sweep(source, out=out).summary["estimator"]),
    "compare": lambda source, out: set(voxpath.compare(source, out=out).summary["estimator"]),
    "write_report": lambda source, out: set(
        text_of(voxpath.write_report(source, out / "page.html", out=out).read_text()).split()
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["path", "text", "dictionary", "document"])
def test_a_scenario_is_a_path_a_text_a_dictionary_or_a_document(way: str, kind: str, small: Path):
    source = {
        "path": small,
        "text": str(small),
        "dictionary": tomllib.loads(SMALL),
        "document": voxpath.load(small),
    }[kind]
    assert "sim" in WAYS[way](source, small.parent)


def test_scenarios_and_runs_are_compared_by_their_paths(small: Path):
    (folder,) = voxpath.run(small, out=small.parent).folders
    answers = voxpath.compare(str(small), str(folder), out=small.parent)
    assert [variant.source for variant in answers.variants] == [str(small), str(folder)]


@pytest.mark.parametrize("way", WAYS)
def test_a_path_where_there_is_no_scenario_is_told(way: str, tmp_path: Path):
    with pytest.raises(ScenarioError, match=r"absent\.toml"):
        WAYS[way](tmp_path / "absent.toml", tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_scenario_is_told_with_what_one_is(way: str, tmp_path: Path):
    with pytest.raises(TypeError, match=r"a file's path, a dictionary, or what voxpath\.load gave, not 3"):
        WAYS[way](3, tmp_path)


def test_formulas_are_given_by_the_path_of_their_file(small: Path):
    file = small.with_name("mine.py")
    file.write_text(FORMULA)
    for formulas in (file, str(file)):
        answers = voxpath.sweep(small, out=small.parent, formulas=formulas)
        assert "always_2" in set(answers.summary["estimator"])


# In the shell, the scenario's sweep says how many runs there are.
DECLARED: list[Option[Any]] = [
    one for one in vars(options).values() if isinstance(one, Option) and one is not options.RUNS
]


@pytest.mark.parametrize("way", [*WAYS, "real"])
def test_every_argument_is_documented_once(way: str):
    function = getattr(voxpath, way)
    documented = re.findall(r"^    (\w+): ", function.__doc__.partition("Raises:")[0], re.MULTILINE)
    assert documented == list(inspect.signature(function).parameters)


@pytest.mark.parametrize(("command", "way"), [("run", "run"), ("sweep", "sweep"), ("report", "write_report")])
def test_an_option_means_the_same_in_the_shell_and_in_python(command: str, way: str):
    told = " ".join(getattr(voxpath, way).__doc__.split())
    arguments = inspect.signature(getattr(voxpath, way)).parameters
    taken = {
        option.opts[-1]: option.help for option in cli.commands[command].params if hasattr(option, "help")
    }
    shared = [one for one in DECLARED if one.meaning in told and f"--{one.flag or one.name}" in taken]
    assert len(shared) >= 6
    for one in shared:
        assert arguments[one.name].default == one.default
        assert taken[f"--{one.flag or one.name}"].startswith(one.meaning), one.name


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"replications": 0}, "replications 0: a whole number from 1 to 1000000 is expected"),
        ({"replications": 2.5}, "replications 2.5: a whole number"),
        ({"jobs": 0}, "jobs 0: a whole number from 1 to 1024 is expected"),
        ({"out": ""}, "out is empty: it names a directory"),
        ({"observe": "tcp"}, "observe 'tcp': a list of names is expected, such as ['tcp']"),
        ({"backends": "sim"}, "backends 'sim': a list of names is expected"),
    ],
)
def test_an_argument_that_no_command_takes_is_refused_before_anything_runs(given, says: str, small: Path):
    for way in (voxpath.run, voxpath.sweep):
        with pytest.raises(ValueError, match=re.escape(says)):
            way(small, **{"out": small.parent / "runs"} | given)
    assert [path.name for path in small.parent.iterdir()] == [small.name]
