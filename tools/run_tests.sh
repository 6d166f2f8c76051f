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
build() {  # build PRESET TARGETS [-DOPTION…]: quiet unless something fails
  local preset=$1 targets=$2 log=build/$1.log
  shift 2
  mkdir -p build
  # shellcheck disable=SC2086 -- TARGETS is a list
  cmake --preset "$preset" "$@" >"$log" 2>&1 && cmake --build --preset "$preset" --target $targets >>"$log" 2>&1 || { tail -n 60 "$log"; return 1; }
}
# The floors that read untrusted bytes or hold the kernels; the rest is not under sanitizers here yet.
sanitized="base numerics graph kernels format fuzz"
build_sanitizers() { build dev "$(printf 'test_%s ' $sanitized)"; }
test_sanitizers() {
  ctest --preset dev -R "^test_(${sanitized// /|})\$" -j "$jobs"
}
# Where protobuf, onnx, CLI11 and nlohmann_json are not installed: asking for one of them would be an error, linking one is looked for.
build_runtime_only() {
  build runtime-only quant -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON -DCMAKE_DISABLE_FIND_PACKAGE_ONNX=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
  if grep -E 'libprotobuf|libonnx|onnx_proto' build/runtime-only/build.ninja; then
    echo "runtime-only: the lines above mention protobuf or onnx" >&2
    return 1
  fi
}
stage "install" tools/install_dependencies.sh tests
stage "build release" build release all
stage "build sanitizers" build_sanitizers
stage "unit tests under sanitizers" test_sanitizers
stage "build runtime only" build_runtime_only
echo "=== so far: $SECONDS s"
echo "=== all tests, release"
exec ctest --preset release -LE slow -j "$jobs"
