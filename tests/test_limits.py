"""Limits of a run: from the scenario to the verdict."""

from __future__ import annotations

import json

import pytest

from voxpath.scenario import ScenarioError, from_dict

ENDLESS = """\
name = "x"
seed = 1
{more}
[topology]
kind = "pipe"
link = {{ rate = "10 Mbit/s", delay = "5 ms", queue = "50 packets" }}

[[flows]]
name = "stream"
app = {{ kind = "cbr", packet = "100 B", interval = "1 ms", packets = "4000000000 packets" }}
"""


@pytest.mark.parametrize(
    ("limit", "reached"),
    [("events = 10_000", "events"), ('time = "3 s"', "time"), ('memory = "1 MB"', "memory")],
)
def test_a_run_that_reaches_a_limit_is_kept_and_says_so(voxpath, tmp_path, limit: str, reached: str):
    (tmp_path / "x.toml").write_text(ENDLESS.format(more=f"limits = {{ {limit} }}"))
    called = voxpath("run", "x.toml")
    (path,) = (tmp_path / "runs").rglob("verdict.json")
    verdict = json.loads(path.read_text())
    assert (verdict["limit"], verdict["valid"]) == (reached, False)
    assert (path.parent / "flows.parquet").is_file()
    assert any(f"its limit of {reached}" in problem for problem in verdict["problems"])
    assert called.code == 1
    assert f"{path.parent.name}/verdict.json" in called.err


def test_limits_are_refused_where_they_cannot_be():
    base = {
        "name": "x",
        "duration": "1 s",
        "topology": {"kind": "pipe", "link": {"delay": "1 ms"}},
        "flows": [{"app": {"kind": "bulk", "size": "1 kB"}}],
    }
    for limits, key in [
        ({"events": 0}, "limits.events"),
        ({"time": "0 s"}, "limits.time"),
        ({"memory": 7}, "limits.memory"),
        ({"time": "1 s"}, "limits.time"),
        ({"packets": 7}, "limits.packets"),
    ]:
        with pytest.raises(ScenarioError) as refused:
            from_dict(base | {"limits": limits})
        assert [problem.key for problem in refused.value.problems] == [key]
