#!/usr/bin/env bash
# The same bits on every processor: the cases of the rule tests and quantized models, each with the hash of its outputs, on every
# kernel family of every processor this machine can be or emulate. One table; exit code 1 if anything differs.
# Usage: test/conformance/run_all.sh [RELEASE_BUILD [AARCH64_BUILD]]   (folders with the test and tool targets built)
set -euo pipefail
cd "$(dirname "$0")/../.."
release=${1:-build/release} aarch64=${2:-build/aarch64-qemu}
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
LQ_CONFORMANCE_DIR=$cases "$release/test/reference/rules/test_reference" --gtest_brief=1 >/dev/null
cp "$release"/golden/*.lqm "$cases/" 2>/dev/null || echo "no quantized models in $release/golden: operator cases only" >&2
status=0
row() {  # row PROCESSOR COMMAND…
  local processor=$1 line out
  shift
  out=$("$@" "$cases") || status=1
  while read -r line; do
    if [[ $line =~ ^isa\ ([a-z0-9_]+):\ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
      printf '%-22s %-14s %7d %7d\n' "$processor" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}"
    else
      echo "$line"
    fi
  done <<<"$out"
}
printf '%-22s %-14s %7s %7s\n' processor kernels passed failed
row "x86-64, this machine" "$release/tools/device/lq-conform"
if [ -x "$aarch64/tools/device/lq-conform" ] && command -v qemu-aarch64 >/dev/null; then
  for cpu in cortex-a53 cortex-a76 max; do row "aarch64, $cpu" qemu-aarch64 -cpu "$cpu" "$aarch64/tools/device/lq-conform"; done
else
  echo "aarch64: skipped, no $aarch64/tools/device/lq-conform or no qemu-aarch64"
fi
exit "$status"
