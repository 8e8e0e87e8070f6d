#!/usr/bin/env bash
# Every check, those of Rust and of Python at the same time, and Python's tests two files at a time. A test has to pass beside others; one that does not
# costs no whole run, though: what failed is run once more with nothing beside it, counts if it fails again, and is told at the end if it does not.
set -uo pipefail
cd "$(dirname "$0")/.."

of_rust() { make --silent check-rust purity; }

of_rust &
rust=$!
make --silent lint && pytest --numprocesses 2 --dist loadfile
python=$?
wait "$rust"
rust=$?

late=''
if [ "$rust" != 0 ]; then
    echo 'test: the checks of Rust failed: once more, alone'
    of_rust || exit 1
    late="$late Rust"
fi
if [ "$python" != 0 ]; then
    echo 'test: the checks of Python failed: what failed once more, alone'
    make --silent lint && pytest --last-failed --last-failed-no-failures none || exit 1
    late="$late Python"
fi
[ -z "$late" ] || echo "test: a fault to mend, see above: failed beside others and passed alone, in$late"
