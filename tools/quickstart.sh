#!/usr/bin/env bash
# The main job on a fresh Debian 12 machine: installs what is missing, builds, quantizes a real trained model of this repository,
# evaluates float and INT8 on labelled images, benchmarks both and prints the table.
# Usage: tools/quickstart.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_dependencies.sh toolchain
cmake --preset release -DLIBQUANT_BUILD_TESTS=OFF -DLIBQUANT_BUILD_BENCHMARKS=OFF >/dev/null
cmake --build --preset release --parallel
bin=build/release/tools
out=out/quickstart
mkdir -p "$out"

quantize_and_show() {  # NAME MODEL CALIB DATA EXTRA…
  local name=$1 model=$2 calib=$3 data=$4
  shift 4
  "$bin/quantize" --calib "$calib" "$@" -o "$out/$name.lqm" "$model"
  local float8 int8 float_ms int8_ms
  float8=$("$bin/lq-eval" --quiet --data "$data" "$@" "$model" | awk '/^top1/ {print $2}')
  int8=$("$bin/lq-eval" --quiet --data "$data" "$out/$name.lqm" | awk '/^top1/ {print $2}')
  float_ms=$("$bin/lq-benchmark" "$model" | awk '/^latency_ms/ {print $5}')
  int8_ms=$("$bin/lq-benchmark" "$out/$name.lqm" | awk '/^latency_ms/ {print $5}')
  printf '\n%-12s %8s %10s %12s\n' "$name" top1 bytes median_ms
  printf '%-12s %8s %10s %12s\n' float32 "$float8" "$(stat -c %s "$model")" "$float_ms"
  printf '%-12s %8s %10s %12s\n\n' int8 "$int8" "$(stat -c %s "$out/$name.lqm")" "$int8_ms"
}
quantize_and_show mnist examples/mnist/mnist.onnx examples/mnist/calib examples/mnist/test --preprocess raw
