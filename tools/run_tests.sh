#!/usr/bin/env bash
# Installs what is missing, builds and runs every test; prints each stage's time. Ends with ctest's summary.
# Usage: tools/run_tests.sh   (about half an hour on two cores from nothing)
set -euo pipefail
cd "$(dirname "$0")/.."
export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache} CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

stage() {  # stage NAME COMMAND…: runs it, prints how long it took; a failure ends the script
  local name=$1 start=$SECONDS
  shift
  echo "=== $name"
  "$@"
  echo "=== $name: $((SECONDS - start)) s"
}
build() { cmake --preset "$1" >"/tmp/lq_configure_$1.log" || { cat "/tmp/lq_configure_$1.log"; return 1; }; cmake --build --preset "$1"; }

stage "install" tools/install_dependencies.sh tests
stage "build release" build release
stage "build sanitizers" build dev
stage "unit tests under sanitizers" ctest --preset dev -L unit -j 2
stage "build runtime only" build runtime-only
stage "tests runtime only" ctest --preset runtime-only -L unit -j 2
stage "cross build aarch64" build aarch64-qemu
stage "tests aarch64 under qemu" ctest --preset aarch64-qemu -L unit -j 2
stage "all tests, release" ctest --preset release -LE slow -j 2
