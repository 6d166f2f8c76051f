#!/usr/bin/env bash
# Builds lq-benchmark and lq-conform as one static program each, for devices, and libquant.so beside them.
# Usage: tools/build_device_tools.sh [OUT_FOLDER]   (default build/device)
# Makes OUT_FOLDER/aarch64-linux, armv7-linux and riscv64-linux with those of Debian's cross compilers that are installed
# (g++-aarch64-linux-gnu, g++-arm-linux-gnueabihf; g++-riscv64-linux-gnu and clang-19), and with ANDROID_NDK set (r26 or later)
# OUT_FOLDER/arm64-v8a, armeabi-v7a and x86_64 for Android 7 (API 24). Needs cmake, ninja, flatc and flatbuffers' headers.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-$root/build/device}"
out=$(cd "${1:-$root/build/device}" && pwd)
made=0

build() {  # build NAME CMAKE-OPTIONS…
  local name=$1 folder=$out/build-$1
  shift
  echo "=== $name" >&2
  cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLIBQUANT_BUILD_TOOLCHAIN=OFF -DLIBQUANT_BUILD_TESTS=OFF \
    -DBUILD_SHARED_LIBS=ON "$@" >"$folder.log" 2>&1 && cmake --build "$folder" >>"$folder.log" 2>&1 || { tail -n 40 "$folder.log" >&2; return 1; }
  cmake --install "$folder" --prefix "$out/$name" --strip >>"$folder.log"
  ls -l "$out/$name/bin" >&2
  made=$((made + 1))
}

has() { command -v "$1" >/dev/null; }
cross() { build "$1" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/toolchains/$2.cmake"; }  # cross NAME TOOLCHAIN
! has aarch64-linux-gnu-g++ || cross aarch64-linux aarch64-linux-gnu
! has arm-linux-gnueabihf-g++ || cross armv7-linux arm-linux-gnueabihf
! { has riscv64-linux-gnu-g++ && has clang++-19; } || cross riscv64-linux riscv64-linux-gnu
if [ -n "${ANDROID_NDK:-}" ]; then
  for abi in arm64-v8a armeabi-v7a x86_64; do
    build "$abi" -DCMAKE_TOOLCHAIN_FILE="$ANDROID_NDK/build/cmake/android.toolchain.cmake" -DANDROID_ABI="$abi" \
      -DANDROID_PLATFORM=android-24 -DANDROID_STL=c++_static \
      -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=BOTH  # flatbuffers' headers are the host's
  done
fi
if [ "$made" -eq 0 ]; then
  echo "build_device_tools.sh: nothing to build with: install a cross compiler or set ANDROID_NDK" >&2
  exit 1
fi
