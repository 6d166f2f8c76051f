#!/usr/bin/env bash
# The same bits on every processor: the cases of the rule tests and quantized models, each with the hash of its outputs, on every
# kernel family of every processor this machine can be or emulate. One table; exit code 1 if anything differs.
# Usage: test/conformance/run_all.sh [BUILDS]
#   BUILDS (default build): the folder of the builds release, aarch64-qemu, armv7-qemu and riscv64-qemu, each with its lq-conform.
#   LQ_CONFORMANCE_CASES=FOLDER: takes the cases from there instead of making them with the release build.
set -euo pipefail
cd "$(dirname "$0")/../.."
builds=${1:-build} jobs=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=${LQ_CONFORMANCE_CASES:-$work/cases}
if [ -z "${LQ_CONFORMANCE_CASES:-}" ]; then
  mkdir "$cases"
  LQ_CONFORMANCE_DIR=$cases "$builds/release/test/reference/rules/test_reference" --gtest_brief=1 >/dev/null
  cp "$builds"/release/golden/*.lqm "$cases/" 2>/dev/null || echo "no quantized models in $builds/release/golden: operator cases only" >&2
fi

count=0
row() {  # row PROCESSOR KERNELS COMMAND…: KERNELS is one family, all that processor has, or default
  local processor=$1 kernels=$2 options=()
  shift 2
  [ "$kernels" = all ] || options=(--isa "$kernels")
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.1; done
  count=$((count + 1))
  printf '%s\n' "$processor" >"$work/$count.name"
  { "$@" "${options[@]}" "$cases" >"$work/$count.out" 2>&1; echo $? >"$work/$count.status"; } &
}
skipped() { printf '%s\n' "$1" >>"$work/skipped"; }
emulated() {  # emulated BUILD EMULATOR: both are there
  [ -x "$builds/$1/tools/device/lq-conform" ] && command -v "$2" >/dev/null && return
  skipped "$1: skipped, no $builds/$1/tools/device/lq-conform or no $2"
  return 1
}

row "x86-64, this machine" all "$builds/release/tools/device/lq-conform"
if emulated release qemu-x86_64; then  # default: what the library chooses by itself
  a=$builds/release/tools/device/lq-conform
  row "x86-64, core2duo" default qemu-x86_64 -cpu core2duo "$a"  # before SSE4.1: nothing but scalar may run
  row "x86-64, Nehalem" default qemu-x86_64 -cpu Nehalem "$a"
  row "x86-64, max" default qemu-x86_64 -cpu max "$a"
fi
if emulated aarch64-qemu qemu-aarch64; then
  a=$builds/aarch64-qemu/tools/device/lq-conform
  row "aarch64, cortex-a53" all qemu-aarch64 -cpu cortex-a53 "$a"
  row "aarch64, cortex-a76" neon_dotprod qemu-aarch64 -cpu cortex-a76 "$a"
  row "aarch64, a64fx" neon qemu-aarch64 -cpu a64fx "$a"
  row "aarch64, max" neon_i8mm qemu-aarch64 -cpu max "$a"
fi
if emulated armv7-qemu qemu-arm; then
  a=$builds/armv7-qemu/tools/device/lq-conform
  row "armv7, cortex-a9" neon qemu-arm -cpu cortex-a9 "$a"  # NEON without VFPv4's fused multiply-add
  row "armv7, cortex-a15" all qemu-arm -cpu cortex-a15 "$a"
fi
if emulated riscv64-qemu qemu-riscv64; then
  a=$builds/riscv64-qemu/tools/device/lq-conform
  row "riscv64, rv64gc" all qemu-riscv64 -cpu rv64 "$a"  # without V: nothing but scalar may run
  for bits in 128 256 512; do
    row "riscv64, V of $bits bits" rvv qemu-riscv64 -cpu "rv64,v=true,vlen=$bits,vext_spec=v1.0" "$a"
  done
fi
wait

status=0
printf '%-22s %-14s %7s %7s\n' processor kernels passed failed
for i in $(seq "$count"); do
  found=0
  while read -r line; do
    if [[ $line =~ ^isa\ ([a-z0-9_]+):\ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
      printf '%-22s %-14s %7d %7d\n' "$(<"$work/$i.name")" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}"
      found=1
    else
      echo "$line"
    fi
  done <"$work/$i.out"
  if [ "$(<"$work/$i.status")" -ne 0 ] || [ "$found" = 0 ]; then
    echo "$(<"$work/$i.name"): exit code $(<"$work/$i.status")"
    status=1
  fi
done
[ ! -e "$work/skipped" ] || cat "$work/skipped"
exit "$status"
