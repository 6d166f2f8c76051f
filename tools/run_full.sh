#!/usr/bin/env bash
# Everything run_tests.sh does and the long runs: hostile files by the ten thousand, many times the random graphs (plan against reference),
# each optimised and under sanitizers; threads under ThreadSanitizer; ARMv7 and RISC-V; the accuracy table of every model. docs/TESTING.md has the last figures.
# Usage: tools/run_full.sh   (some hours on two cores)
set -euo pipefail
cd "$(dirname "$0")/.."
tools/run_tests.sh
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
stage() {
  local name=$1 start=$SECONDS
  shift
  echo "=== $name"
  "$@"
  echo "=== $name: $((SECONDS - start)) s"
}
tools_under_sanitizers() {
  cmake --build --preset dev --target test_tools
  ctest --preset dev -R '^test_tools$'
}
threads() {
  cmake --preset tsan
  cmake --build --preset tsan --target test_runtime test_capi test_calibration
  ctest --preset tsan -R '^test_(runtime|capi|calibration)$'
}
# run_tests.sh runs them on aarch64 alone, and all conformance cases everywhere.
cross_tests() {
  local preset=$1 tests="base numerics graph image kernels format passes runtime capi"
  cmake --preset "$preset"
  # shellcheck disable=SC2046 -- one word a target
  cmake --build --preset "$preset" --target $(printf 'test_%s ' $tests)
  ctest --preset "$preset" -R "^test_(${tests// /|})\$"
}
rounds=${LQ_RANDOM_ROUNDS:-200}
stage "hostile files" ctest --preset release -R '^test_fuzz_long$'
stage "hostile files, sanitizers" ctest --preset dev -R '^test_fuzz_long$'
stage "random graphs, $rounds times" env LQ_RANDOM_ROUNDS="$rounds" build/release/test/reference/rules/test_reference --gtest_brief=1
stage "random graphs, $((rounds / 10 + 1)) times, sanitizers" \
  env LQ_RANDOM_ROUNDS=$((rounds / 10 + 1)) build/dev/test/reference/rules/test_reference --gtest_brief=1
stage "tools, sanitizers" tools_under_sanitizers
stage "ThreadSanitizer" threads
stage "tests of what ships, ARMv7" cross_tests armv7-qemu
stage "tests of what ships, RISC-V" cross_tests riscv64-qemu
stage "accuracy of every model" benchmark/accuracy_table.sh docs/ACCURACY.md
