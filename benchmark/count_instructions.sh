#!/usr/bin/env bash
# The table "ARM and RISC-V, by instruction count" of docs/PERFORMANCE.md: how many instructions one call of each kernel takes, counted
# under emulation, so the same on every machine. Needs the libraries of the cross builds (targets lq-conform of aarch64-qemu,
# armv7-qemu, riscv64-qemu; those absent are left out) and g++.
# Usage: benchmark/count_instructions.sh [BUILDS]   (default build)
set -euo pipefail
cd "$(dirname "$0")/.."
builds=${1:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -shared -fPIC -fvisibility=hidden benchmark/instruction_count.c -o "$work/count.so"

compile() {  # compile PRESET COMPILER…: count_kernel of that processor; false if the build is not there
  local library=$builds/$1/source/kernels/liblq_kernels.a
  [ -e "$library" ] || { echo "no $library: left out" >&2; return 1; }
  "${@:2}" -std=c++20 -O2 -Isource benchmark/count_kernel.cc "$library" -o "$work/$1"
}
instructions() {  # instructions EMULATOR… -- ARGUMENTS: of the whole program
  "$@" 2>&1 | awk '/^instructions/ {print $2}'
}
row() {  # row LAYER FAMILY ISA EMULATOR…: instructions of a second call
  local layer=$1 family=$2 isa=$3 once twice facts
  shift 3
  facts=$("$@" "$family" "$isa" "$layer" 1 2>/dev/null | grep ' macs ')
  once=$(instructions "$@" "$family" "$isa" "$layer" 1) twice=$(instructions "$@" "$family" "$isa" "$layer" 2)
  # KERNEL macs N outputs N
  awk -v layer="$layer" -v n=$((twice - once)) '{ if (layer ~ /^depthwise/) printf "| %s | %s | %.2f instructions per output |\n", layer, $1, n / $5
    else printf "| %s | %s | %.2f MAC per instruction |\n", layer, $1, $3 / n }' <<<"$facts"
}
table() {  # table "ISA FORM"… -- EMULATOR…: every layer on every kernel of a processor
  local kernels=()
  while [ "$1" != -- ]; do kernels+=("$1"); shift; done
  shift
  for layer in conv1x1_256_14 conv3x3_64_28 depthwise3x3_56 depthwise3x3_14 depthwise5x5_28; do
    for kernel in "${kernels[@]}"; do
      case $layer in
        depthwise*) [ "${kernel% *}" = neon_i8mm ] || row "$layer" depthwise_s8x4 "${kernel% *}" "$@" ;;
        *) row "$layer" "conv_${kernel#* }" "${kernel% *}" "$@" ;;
      esac
    done
  done
}
plugin=(-plugin "$work/count.so" -d plugin)
echo '| layer | kernel | |'
echo '|---|---|---|'
if compile aarch64-qemu aarch64-linux-gnu-g++; then
  table "neon s8x8" "neon_dotprod s8x4" "neon_i8mm s8x8" -- qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max "${plugin[@]}" "$work/aarch64-qemu"
fi
if compile armv7-qemu arm-linux-gnueabihf-g++; then
  echo "| *ARMv7* | | |"
  table "neon s8x8" -- qemu-arm -L /usr/arm-linux-gnueabihf -cpu cortex-a15 "${plugin[@]}" "$work/armv7-qemu"
fi
if compile riscv64-qemu clang++-19 --target=riscv64-linux-gnu; then
  for bits in 128 512; do
    echo "| *RISC-V V, $bits bits* | | |"
    table "rvv s8x4" -- qemu-riscv64 -L /usr/riscv64-linux-gnu -cpu "rv64,v=true,vlen=$bits,vext_spec=v1.0" "${plugin[@]}" "$work/riscv64-qemu"
  done
fi
