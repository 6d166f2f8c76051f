#!/usr/bin/env bash
# The tables "ARM and RISC-V, by instruction count" of docs/PERFORMANCE.md: how many instructions one call of each kernel takes, and one run of
# whole 3×3 layers, direct and by Winograd, counted under emulation, so the same on every machine. Needs the libraries of the cross
# builds (targets lq-conform of aarch64-qemu, armv7-qemu, riscv64-qemu; those absent are left out) and g++.
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
  local floors=("$builds/$1"/source/{runtime,passes,format,graph,numerics,kernels,base}/liblq_*.a)
  "${@:2}" -std=c++20 -O2 -Isource -I"$builds/$1/source/graph" -isystem "$builds/$1/schema" benchmark/count_layer.cc "${floors[@]}" -pthread \
    -o "$work/$1-layer"
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
winograd() {  # winograd NAME ISA EMULATOR…: multiply-adds of the direct sum an instruction, of whole layers
  local name=$1 isa=$2 tile once twice macs cells
  shift 2
  for shape in "56 64" "28 128" "14 256" "7 512"; do
    cells=
    for tile in 0 2 4; do
      macs=$("$@" "$isa" $shape $tile 1 2>/dev/null | awk '/ macs / {print $3}')
      once=$(instructions "$@" "$isa" $shape $tile 1) twice=$(instructions "$@" "$isa" $shape $tile 2)
      cells+=" $(awk -v macs="$macs" -v n=$((twice - once)) 'BEGIN {printf "%.2f", macs / n}') |"
    done
    printf '| %s×%s, %s → %s | %s |%s\n' ${shape% *} ${shape% *} ${shape#* } ${shape#* } "$name" "$cells"
  done
}
plugin=(-plugin "$work/count.so" -d plugin)
a64=(qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max "${plugin[@]}" "$work/aarch64-qemu")
v7=(qemu-arm -L /usr/arm-linux-gnueabihf -cpu cortex-a15 "${plugin[@]}" "$work/armv7-qemu")
rv=(qemu-riscv64 -L /usr/riscv64-linux-gnu "${plugin[@]}" -cpu)  # and a cpu and a program
bits_of() { echo "rv64,v=true,vlen=$1,vext_spec=v1.0"; }
has_a64=false has_v7=false has_rv=false
! compile aarch64-qemu aarch64-linux-gnu-g++ || has_a64=true
! compile armv7-qemu arm-linux-gnueabihf-g++ || has_v7=true
! compile riscv64-qemu clang++-19 --target=riscv64-linux-gnu || has_rv=true

echo '| layer | kernel | |'
echo '|---|---|---|'
! $has_a64 || table "neon s8x8" "neon_dotprod s8x4" "neon_i8mm s8x8" -- "${a64[@]}"
if $has_v7; then
  echo "| *ARMv7* | | |"
  table "neon s8x8" -- "${v7[@]}"
fi
if $has_rv; then
  for bits in 128 512; do
    echo "| *RISC-V V, $bits bits* | | |"
    table "rvv s8x4" -- "${rv[@]}" "$(bits_of $bits)" "$work/riscv64-qemu"
  done
fi

echo
echo '| layer, 3×3 | kernels | direct | F(2×2) | F(4×4) |'
echo '|---|---|---|---|---|'
if $has_a64; then
  for isa in neon neon_dotprod neon_i8mm; do winograd $isa $isa "${a64[@]}-layer"; done
fi
! $has_v7 || winograd "neon, ARMv7" neon "${v7[@]}-layer"
if $has_rv; then
  for bits in 128 512; do winograd "rvv, $bits bits" rvv "${rv[@]}" "$(bits_of $bits)" "$work/riscv64-qemu-layer"; done
fi
