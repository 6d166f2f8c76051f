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
  packages+=(libgtest-dev libgmock-dev libbenchmark-dev googletest libonnx-testdata pkg-config binutils ccache)
  # Cross builds and emulators. clang: the vector intrinsics of RISC-V, which Debian's g++ 12 lacks.
  packages+=(qemu-user g++-aarch64-linux-gnu g++-arm-linux-gnueabihf g++-riscv64-linux-gnu clang-19)
  packages+=(bochs bochs-term bsdutils)  # AVX512-VNNI kernels on bare metal (test/emulation)
  # For test/peer. A node from elsewhere brings its own npm, which Debian's package would conflict with.
  command -v node >/dev/null || packages+=(nodejs)
  command -v npm >/dev/null || packages+=(npm)
fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}" >&2
  sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
  if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
    echo "install_dependencies.sh: not root and no sudo: run this once as root" >&2
    exit 1
  fi
  $sudo apt-get update -q >&2
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
fi
[ "$level" = tests ] || exit 0

# ONNX Runtime, which test/peer compares with: in the user's cache, where test/peer/onnx_runtime.cc looks for this version.
# Without a network its tests are skipped, and nothing else needs it.
version=1.30.0
folder=${XDG_CACHE_HOME:-$HOME/.cache}/libquant/onnxruntime-node-$version
[ -e "$folder/node_modules/onnxruntime-node" ] && exit 0
echo "installing: onnxruntime-node $version in $folder" >&2
mkdir -p "$(dirname "$folder")"
part=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$part"' EXIT
# --ignore-scripts: the package's own script would fetch the CUDA libraries; those for the CPU are in the package.
if npm install --prefix "$part" --fetch-retries=0 --ignore-scripts --no-audit --no-fund "onnxruntime-node@$version" >&2; then
  find "$part/node_modules/onnxruntime-node/bin" -mindepth 2 -maxdepth 2 ! -name linux -exec rm -rf {} +  # 200 MB for other systems
  mv -T "$part" "$folder"
else
  echo "install_dependencies.sh: onnxruntime-node could not be installed: the comparison with ONNX Runtime will be skipped" >&2
fi
