#!/usr/bin/env bash
# Builds libquant.xcframework (iOS 15, devices and simulators) from frameworks. Needs macOS with Xcode, cmake, ninja, flatc and
# flatbuffers' headers. Usage: packaging/apple/build_xcframework.sh [OUT_FOLDER]   (default packaging/apple, where Package.swift is)
set -euo pipefail
[ "$(uname)" = Darwin ] || { echo "build_xcframework.sh: needs macOS with Xcode" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
out=${1:-$here}
arguments=()
build() {  # build NAME SYSTEM SYSROOT ARCHITECTURES MINIMUM
  cmake -S "$root" -B "$root/build/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME="$2" -DCMAKE_OSX_SYSROOT="$3" \
    -DCMAKE_OSX_ARCHITECTURES="$4" -DCMAKE_OSX_DEPLOYMENT_TARGET="$5" -DCMAKE_SYSTEM_PROCESSOR=arm64 -DBUILD_SHARED_LIBS=ON \
    -DLIBQUANT_BUILD_TOOLCHAIN=OFF -DLIBQUANT_BUILD_TESTS=OFF -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=BOTH
  cmake --build "$root/build/$1" --target quant
  arguments+=(-framework "$root/build/$1/source/capi/libquant.framework")
}
build apple-ios iOS iphoneos arm64 15.0
build apple-ios-simulator iOS iphonesimulator arm64 15.0
rm -rf "$out/libquant.xcframework"
xcodebuild -create-xcframework "${arguments[@]}" -output "$out/libquant.xcframework"
