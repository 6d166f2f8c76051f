#!/usr/bin/env bash
# How many instructions one inference of a quantized model takes on aarch64 with sdot, counted under emulation, beside the ideal: its
# multiply-adds at the rate of the 1×1 layer in the table of count_instructions.sh, 5 for a depthwise output and 0.5 for an
# output element of every other operator. Needs the build aarch64-qemu (targets lq-benchmark, lq_kernels). Exit code 1 beyond 1.25.
# Usage: benchmark/count_model.sh MODEL.lqm MULTIPLY_ADDS DEPTHWISE_OUTPUTS OTHER_ELEMENTS [BUILDS]   (default build)
#   MULTIPLY_ADDS without those of depthwise layers; mobilenet_v2 at 224 × 224: 280057856 2301824 368192
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 4 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
model=$1 macs=$2 depthwise=$3 other=$4 builds=${5:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -shared -fPIC -fvisibility=hidden benchmark/instruction_count.c -o "$work/count.so"
instructions() {  # of a process that runs the model once to warm up and then $1 times
  qemu-aarch64 -cpu cortex-a76 -plugin "$work/count.so" -d plugin "$builds/aarch64-qemu/tools/device/lq-benchmark" --warmup 1 --iterations "$1" "$model" \
    2>&1 >/dev/null | awk '/^instructions/ {print $2}'
}
once=$(instructions 1) thrice=$(instructions 3)
rate=$(benchmark/count_instructions.sh "$builds" 2>/dev/null | awk '/conv1x1_256_14.*neon_dotprod/ {print $6}')
awk -v n=$(((thrice - once) / 2)) -v macs="$macs" -v depthwise="$depthwise" -v other="$other" -v rate="$rate" 'BEGIN {
  ideal = macs / rate + 5 * depthwise + 0.5 * other
  printf "%d instructions, ideal %d (%.2f MAC per instruction): %.3f\n", n, ideal, rate, n / ideal
  exit n > 1.25 * ideal }'
