#!/usr/bin/env bash
# Installs what is missing, builds and runs every test; prints each stage's time. Ends with the summary of all tests of the release build.
# Usage: tools/run_tests.sh   (about half an hour on two cores from nothing)
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache} CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
# The builds share what compiles alike: paths relative to the sources.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$jobs}
times=""

stage() {  # stage NAME COMMAND…: runs it, prints how long it took; a failure ends the script
  local name=$1 start=$SECONDS
  shift
  echo "=== $name"
  "$@"
  echo "=== $name: $((SECONDS - start)) s"
  times+="$(printf '%6d s  %s' $((SECONDS - start)) "$name")"$'\n'
}
build() {  # build PRESET TARGET…: quiet unless something fails
  local preset=$1 log=build/$1.log
  shift
  mkdir -p build
  cmake --preset "$preset" >"$log" 2>&1 && cmake --build --preset "$preset" --target "$@" >>"$log" 2>&1 || { tail -n 60 "$log"; return 1; }
}
# What a phone runs, on this machine: the floors that ship, and models the release build quantized, whose bits must be the same there.
cross_tests="base numerics graph image kernels format passes runtime capi golden"
cross() {
  build aarch64-qemu lq-conform $(printf 'test_%s ' $cross_tests)
  build armv7-qemu lq-conform
  build riscv64-qemu lq-conform
  ctest --preset release -R '^golden_models$'
  LQ_GOLDEN_DIR=$PWD/build/release/golden ctest --preset aarch64-qemu -R "^(test_(${cross_tests// /|})|library_size)\$" -j "$jobs"
  test/conformance/run_all.sh build
}
# Tests skip what the machine lacks (the folder ../shared, an ISA, root); the summary says so, each with its reason.
print_skipped() {
  local log=build/release/Testing/Temporary/LastTest.log
  echo "=== skipped: $(grep -c '^\[  SKIPPED \].*ms)$' "$log" || true) of $(grep -cE '^\[ +(OK|SKIPPED|FAILED) +\].* ms\)$' "$log" || true) cases"
  { grep -A1 -E '^[^ ]*: Skipped$' "$log" | grep -vE ': Skipped$|^--$'; grep -E '^-- .* skipped$|^[0-9]+ cases? skipped:' "$log"; } | sort | uniq -c || true
}

stage "install" tools/install_dependencies.sh tests
stage "build, release" build release all
stage "build, address and undefined-behaviour sanitizers" build dev unit_tests
stage "unit tests and fuzz corpora under sanitizers" ctest --preset dev -L '^(unit|fuzz)$' -j "$jobs"
stage "cross builds, tests and conformance under qemu" cross
echo "=== all tests, release"
start=$SECONDS status=0
ctest --preset release -LE slow -j "$jobs" 2>&1 | tee build/release-tests.log || status=$?
times+="$(printf '%6d s  %s' $((SECONDS - start)) "all tests, release")"$'\n'
print_skipped
printf '=== times\n%s%6d s  in all\n\n' "$times" "$SECONDS"
sed -n '/tests passed,/,$p' build/release-tests.log
exit "$status"
