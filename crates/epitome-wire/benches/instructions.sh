#!/bin/sh
# Instructions of the sides of a benchmark, by callgrind, and their ratio to the first: instructions.sh BENCHMARK SIDE…
# The first run fills the caches, so what counts is the difference of eleven runs and one.
set -eu
cd "$(dirname "$0")/.."
benchmark=$1
shift
binary=$(cargo bench --bench "$benchmark" --no-run --message-format=json 2>/dev/null |
    sed -n "s/.*\"executable\":\"\([^\"]*$benchmark-[^\"]*\)\".*/\1/p" | tail -n 1)
profile=$(mktemp)
trap 'rm -f "$profile"' EXIT
count() {
    valgrind --tool=callgrind --callgrind-out-file="$profile" "$binary" "$1" "$2" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
first=
for side in "$@"; do
    one=$(count "$side" 1)
    eleven=$(count "$side" 11)
    per=$(((eleven - one) / 10))
    first=${first:-$per}
    echo "$side: $per instructions, ratio $(awk "BEGIN { printf \"%.2f\", $per / $first }")"
done
