#!/usr/bin/env bash
# Installs what is missing, builds and runs every test; prints each stage's time. Ends with the summary of all tests of the release build.
# Usage: tools/run_tests.sh   (about half an hour on two cores from nothing)
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache} CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
# The four builds share what compiles alike: paths relative to the sources.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$jobs}

stage() {  # stage NAME COMMAND…: runs it, prints how long it took; a failure ends the script
  local name=$1 start=$SECONDS
  shift
  echo "=== $name"
  "$@"
  echo "=== $name: $((SECONDS - start)) s"
}
build() {  # build PRESET [-DOPTION…]: quiet unless something fails
  local preset=$1 log=build/$1.log
  mkdir -p build
  cmake --preset "$@" >"$log" 2>&1 && cmake --build --preset "$preset" >>"$log" 2>&1 || { tail -n 60 "$log"; return 1; }
}
# Where protobuf, onnx, CLI11 and nlohmann_json are not installed: asking for one of them would be an error, linking one is looked for.
build_runtime_only() {
  build runtime-only -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON -DCMAKE_DISABLE_FIND_PACKAGE_ONNX=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
  if grep -E 'libprotobuf|libonnx|onnx_proto' build/runtime-only/build.ninja; then
    echo "runtime-only: the lines above mention protobuf or onnx" >&2
    return 1
  fi
}
aarch64() {
  local program
  for program in aarch64-linux-gnu-g++ qemu-aarch64; do
    command -v "$program" >/dev/null || { echo "aarch64: SKIPPED, $program is not installed"; return 0; }
  done
  build aarch64-qemu
  ctest --preset aarch64-qemu -L unit -j "$jobs"
}

stage "install" tools/install_dependencies.sh tests
stage "build release" build release
stage "build sanitizers" build dev
stage "unit tests under sanitizers" ctest --preset dev -L unit -j "$jobs"
stage "build runtime only" build_runtime_only
stage "tests runtime only" ctest --preset runtime-only -L 'unit|package' -j "$jobs"
stage "aarch64 under qemu" aarch64
echo "=== so far: $SECONDS s"
echo "=== all tests, release"
exec ctest --preset release -LE slow -j "$jobs"
