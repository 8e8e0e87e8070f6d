"""The options of `voxpath.options` as click's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voxpath import options
from voxpath.cli.parts import Decorated, Directory, Integer, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def takes(*declared: options.Option[Any]) -> Callable[[Decorated], Decorated]:
    """Options that a command takes, in this order in its help."""

    def decorate(function: Decorated) -> Decorated:
        for one in reversed(declared):
            function = option(one)(function)
        return function

    return decorate


def option(declared: options.Option[Any], **differing: Any) -> Callable[[Decorated], Decorated]:
    """An option as it is declared, but for what this command has otherwise."""
    flag = differing.pop("flag", None) or declared.flag or declared.name
    given: dict[str, Any] = {
        "help": " ".join(filter(None, (declared.meaning, _manner(declared), declared.in_shell))),
        "default": declared.default,
        "shell_complete": names(_KNOWN[declared.name]) if declared.name in _KNOWN else None,
        **_shape(declared),
        **differing,
    }
    return click.option(f"--{flag}", **given)


def _shape(declared: options.Option[Any]) -> dict[str, Any]:
    match declared.kind:
        case options.Whole(least, most):
            return {"type": Integer(least, most)}
        case options.Text(metavar):
            return {"metavar": metavar}
        case options.File():
            return {"type": click.Path(path_type=Path), "metavar": "FILE"}
        case options.Directory():
            return {"type": Directory(path_type=Path), "show_default": True}
        case options.Names():
            return {"default": ",".join(declared.default), "show_default": bool(declared.default)}
        case options.Each(metavar):
            return {"multiple": True, "metavar": metavar}
        case options.Flag():
            return {"is_flag": True}


def _manner(declared: options.Option[Any]) -> str:
    match declared.kind:
        case options.Names():
            return "With commas between."
        case options.Each():
            return "May be repeated."
        case _:
            return ""


def _backends() -> Iterable[str]:
    from voxpath.backends.base import BACKENDS

    return BACKENDS


def _observable() -> Iterable[str]:
    from voxpath.backends.sim import OBSERVABLE

    return OBSERVABLE


def _metrics() -> Iterable[str]:
    from voxpath.backends.sim import METRICS

    return dict.fromkeys(metric for metrics in METRICS.values() for metric in metrics)


_KNOWN = {"backends": _backends, "observe": _observable, "metrics": _metrics}
"""Where names are looked up when a shell asks for them."""

SEED = click.option("--seed", type=Integer(0, 2**63 - 1), help="Overrides the scenario's seed.")
JOBS = option(options.JOBS, default=None)
