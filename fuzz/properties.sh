#!/bin/sh
# make fuzz: the property tests of every crate with new seeds, FUZZ_SECONDS long; a seed that fails is named, and ends this.
set -eu
cd "$(dirname "$0")/.."
# Every test binary that draws: of a file of crates/*/tests, or of a folder there.
drawing=$(grep -rl 'proptest!' crates/*/tests | sed 's|.*/tests/\([^/.]*\).*|--test \1|' | sort -u)
tests="--release --locked --quiet --workspace --lib $drawing"
# shellcheck disable=SC2086
cargo test $tests --no-run
end=$(($(date +%s) + ${FUZZ_SECONDS:-60}))
rounds=0
while [ "$(date +%s)" -lt "$end" ]; do
	seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
	# shellcheck disable=SC2086
	RUST_BACKTRACE=0 PROPTEST_RNG_SEED=$seed cargo test $tests >target/fuzz-properties.log 2>&1 || {
		grep -A 30 "^Test failed\|minimal failing" target/fuzz-properties.log || tail -40 target/fuzz-properties.log
		echo "fuzz: the property tests fail with PROPTEST_RNG_SEED=$seed: target/fuzz-properties.log"
		exit 1
	}
	rounds=$((rounds + 1))
done
echo "fuzz: properties: $rounds seeds"
