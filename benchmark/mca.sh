#!/usr/bin/env bash
# The table "Inner loops, by llvm-mca" of docs/PERFORMANCE.md: the inner loops of the int8 product kernels, cut from the objects of the build
# aarch64-qemu, on LLVM's models of phone cores. Bound: the cycles of its multiplications alone, from the same model; where sums of int16
# have to be widened (sadalp), with that, which in-order cores do in the same pipes. Exit code 1 if a loop takes more than 1.15 times its
# bound. Needs llvm-mca of LLVM 19 (Debian: llvm-19) and binutils for aarch64.
# Usage: benchmark/mca.sh [BUILD]   (default build/aarch64-qemu)
set -euo pipefail
cd "$(dirname "$0")/.."
objects=${1:-build/aarch64-qemu}/source/kernels/CMakeFiles
mca=${LLVM_MCA:-llvm-mca-19}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
multiplication='(sdot|smmla|smull2?|smlal2?)'

# loop OBJECT FUNCTION: the innermost loop with the most multiplications, as assembly without addresses. A loop is what lies between a conditional
# backward branch and its target; innermost, if no other one lies inside.
loop() {
  aarch64-linux-gnu-objdump -d --no-show-raw-insn -C "$1" | awk -v name="$2" -v multiplication="^$multiplication\$" '
    BEGIN { n = loops = most = 0 }
    /^[0-9a-f]+ </ { inside = index($0, name) > 0; next }
    inside && /^ *[0-9a-f]+:\t/ {
      split($0, field, "\t"); at = field[1]; gsub(/[ :]/, "", at); line[n] = field[2]
      for (i = 3; i in field; ++i) line[n] = line[n] " " field[i]
      sub(/ *\/\/.*/, "", line[n]); sub(/ *<.*/, "", line[n]); place[at] = n++; delete field
      if (match(line[n - 1], /^(b\.[a-z]+|b|cbn?z|tbn?z)[ \t]/)) {
        parts = split(line[n - 1], word, /[ ,]+/); target = word[parts]
        sub(target "$", ".", line[n - 1])
        if (target in place && line[n - 1] !~ /^b[ \t]/) { begin[loops] = place[target]; end[loops++] = n - 1 }
      }
    }
    END {
      best = -1
      for (l = 0; l < loops; ++l) {
        count = 0
        for (i = begin[l]; i <= end[l]; ++i) { split(line[i], word, " "); count += word[1] ~ multiplication }
        for (k = 0; k < loops; ++k) if (k != l && begin[k] >= begin[l] && end[k] <= end[l]) count = -1
        if (count > most) { most = count; best = l }
      }
      if (best < 0) exit 1
      for (i = begin[best]; i <= end[best]; ++i) print line[i]
    }'
}

over=0
row() {  # row KERNEL FILE FUNCTION CORE
  local iterations=200 facts
  loop "$objects/$2.o" "$3" >"$work/loop.s" || { echo "mca.sh: no loop of multiplications in $3 of $2" >&2; exit 2; }
  "$mca" -mtriple=aarch64-linux-gnu -mcpu="$4" -mattr=+dotprod,+i8mm -iterations=$iterations "$work/loop.s" >"$work/report" 2>"$work/errors" ||
    { cat "$work/errors" >&2; exit 2; }
  grep -E "^($multiplication|sadalp) " "$work/loop.s" >"$work/multiplications.s"
  "$mca" -mtriple=aarch64-linux-gnu -mcpu="$4" -mattr=+dotprod,+i8mm "$work/multiplications.s" >"$work/bound"
  facts=$(awk -v iterations=$iterations -v multiplication="$multiplication" '
    FNR == 1 { ++file }
    file == 1 { if ($1 ~ multiplication) macs += /smmla/ ? 32 : /sdot/ ? 16 : /\.4s/ ? 4 : 8; next }
    file == 2 { if (/^Block RThroughput:/) bound = $3; next }
    /^Total Cycles:/ { cycles = $3 / iterations }
    /^Instructions:/ { instructions = $2 / iterations }
    END { printf "%d %d %.1f %.1f %.4f %.2f", instructions, macs, bound, cycles, cycles / macs, cycles / bound }' \
    "$work/loop.s" "$work/bound" "$work/report")
  set -- "$1" "$4" $facts
  printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$@"
  awk -v ratio="$8" 'BEGIN { exit ratio > 1.15 }' || { over=1; echo "mca.sh: $1 on $2 takes $8 times its bound" >&2; }
}
echo '| kernel | core | instructions | MAC | bound, cycles | cycles | cycles per MAC | of the bound |'
echo '|---|---|---|---|---|---|---|---|'
neon=lq_kernels_neon.dir/neon/conv_s8x8.cc
winograd=lq_kernels_neon.dir/neon/winograd_product.cc
dot=lq_kernels_neon_dotprod.dir/neon_dotprod/conv_s8x4.cc
mm=lq_kernels_neon_i8mm.dir/neon_i8mm/conv_s8x8.cc
for core in cortex-a55 cortex-a76; do
  row "neon 1×1" $neon 'run_quarter<true>' $core
  row "neon 3×3" $neon 'run_quarter<false>' $core
  row "neon Winograd" $winograd 'tile_part<4>' $core
  row "neon_dotprod 1×1" $dot 'run_tiles<6, 4, true, true>' $core
  row "neon_dotprod 3×3" $dot 'run_tiles<6, 4, true, false>' $core
done
for core in cortex-x2 neoverse-n2; do
  row "neon_i8mm 1×1" $mm 'run_row<3, true>' $core
  row "neon_i8mm 3×3" $mm 'run_row<3, false>' $core
done
exit $over
