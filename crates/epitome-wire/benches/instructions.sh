#!/bin/sh
# Instructions of one request through the wire and of a bare parse of it, by callgrind.
# The first run fills the caches, so what counts is the difference of eleven runs and one.
set -eu
cd "$(dirname "$0")/.."
binary=$(cargo bench --bench request_once --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*request_once-[^"]*\)".*/\1/p' | tail -n 1)
profile=$(mktemp)
trap 'rm -f "$profile"' EXIT
count() {
    valgrind --tool=callgrind --callgrind-out-file="$profile" "$binary" "$1" "$2" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
for side in parse prune; do
    one=$(count $side 1)
    eleven=$(count $side 11)
    per=$(((eleven - one) / 10))
    echo "$side: $per instructions"
    eval "$side=$per"
done
echo "ratio: $(awk "BEGIN { printf \"%.2f\", $prune / $parse }")"
