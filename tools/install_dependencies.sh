#!/usr/bin/env bash
# Installs what a Debian 12 machine lacks to build and test libquant. Does nothing when all is there.
# Usage: install_dependencies.sh [runtime|toolchain|tests]   (each includes the ones before; default toolchain)
set -euo pipefail
level=${1:-toolchain}
packages=(g++ cmake ninja-build flatbuffers-compiler libflatbuffers-dev)
case "$level" in
  runtime) ;;
  toolchain|tests)
    packages+=(protobuf-compiler libprotobuf-dev libonnx-dev zlib1g-dev nlohmann-json3-dev libcli11-dev libstb-dev) ;;
  *) echo "install_dependencies.sh: unknown level '$level' (runtime, toolchain or tests)" >&2; exit 2 ;;
esac
if [ "$level" = tests ]; then
  # googletest: its sources, for the cross build. binutils: nm and readelf of the package test.
  packages+=(libgtest-dev libgmock-dev googletest libonnx-testdata pkg-config binutils qemu-user g++-aarch64-linux-gnu ccache)
fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing: ${missing[*]}" >&2
sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
$sudo apt-get update -q >&2
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
