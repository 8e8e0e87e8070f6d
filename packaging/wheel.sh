#!/bin/sh
# make wheel: builds a wheel for every Python from 3.11 on (abi3), its engine trained as by make fast, and an sdist into dist/, and checks
# the wheel: installed into an empty environment that sees no Rust, it has to run what the first pages of the tutorial say.
set -eu
cd "$(dirname "$0")/.."
rm -rf dist
crates/trained.sh wheel dist
maturin sdist --out dist 2>/dev/null
wheel=$(ls dist/*.whl)
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
python3 -m venv "$empty/env"
"$empty/env/bin/pip" install --quiet --disable-pip-version-check "$wheel"
inside() {
	(cd "$empty" && env -i HOME="$empty" PATH="$empty/env/bin:/usr/bin:/bin" "$@")
}
if inside cargo --version >/dev/null 2>&1; then
	echo 'wheel: the environment of the check has a Rust toolchain: it would prove nothing' >&2
	exit 1
fi
inside voxpath --version
inside voxpath new first.toml
inside voxpath run first.toml --replications 2 >/dev/null
inside voxpath report first.toml --replications 2
inside voxpath list >/dev/null
inside voxpath site runs --out site
python packaging/tutorial.py "$empty/env/bin" docs/tutorial/1-first-scenario.md docs/tutorial/2-first-sweep.md
ls -l dist
echo "wheel: $wheel holds; maturin upload dist/* publishes it"
