#!/usr/bin/env bash
# Builds the core without std, and shows that the same build with std is refused.
set -euo pipefail
cd "$(dirname "$0")"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-../../target/purity}"
cp ../../Cargo.lock Cargo.lock

cargo check --quiet
if output=$(cargo check --quiet --features impure 2>&1); then
    echo "purity: std was linked and nobody noticed: the check is broken" >&2
    exit 1
elif ! grep --quiet 'duplicate lang item `panic_impl`' <<<"$output"; then
    printf 'purity: the build with std failed for another reason:\n%s\n' "$output" >&2
    exit 1
fi
for crate in units wire net tcp mptcp rtc coap mqtt apps sim dsp; do
    grep --quiet '^#!\[no_std\]$' "../../crates/$crate/src/lib.rs" &&
        grep --quiet '^#!\[forbid(unsafe_code)\]$' "../../crates/$crate/src/lib.rs" ||
        { echo "purity: crates/$crate lacks no_std or forbid(unsafe_code)" >&2; exit 1; }
done
echo "purity: units, wire, net, tcp, mptcp, rtc, coap, mqtt, apps, sim, dsp build without std"
