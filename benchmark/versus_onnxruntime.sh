#!/usr/bin/env bash
# Times eight nets side by side: ONNX Runtime in float, ONNX Runtime in INT8 (our exported QDQ, exact mode) and libquant in INT8, one
# after the other in every round, so that all see the same machine. Prints medians over the rounds, their spread and the ratios.
# Usage: benchmark/versus_onnxruntime.sh [-t THREADS] [-r ROUNDS] [-n RUNS] [-i ISA] [-a 'QUANTIZE OPTIONS'] FOLDER [NET…]
#   FOLDER: <net>.onnx files; missing ones are exported by ../shared/bench/export_models.py (which needs python3-torch,
#   python3-torchvision, python3-onnx and python3-opencv). Calibration: ../shared/pack/images/imagenet_calib.
#   LQ_BIN: folder of the built tools (default build/release/tools). ONNX Runtime: tools/install_dependencies.sh tests.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
threads=1 rounds=7 runs=20 isa= options="--target avx2"
while getopts "t:r:n:i:a:" flag; do
  case $flag in
    t) threads=$OPTARG ;; r) rounds=$OPTARG ;; n) runs=$OPTARG ;; i) isa=$OPTARG ;; a) options=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n '2,9s/^# //p' "$0" >&2; exit 2; }
folder=$1
shift
nets=("$@")
[ ${#nets[@]} -gt 0 ] || nets=(graycnn shufflenet_v2_x1_0 squeezenet1_1 mobilenet_v2 mobilenet_v3_large efficientnet_b0 resnet18 resnet50)
bin=${LQ_BIN:-$root/build/release/tools} shared=${LQ_SHARED:-$root/../shared}
ort=$(ls -d "${XDG_CACHE_HOME:-$HOME/.cache}"/libquant/onnxruntime-node-* 2>/dev/null | tail -1)
[ -n "$ort" ] || { echo "ONNX Runtime is missing: run tools/install_dependencies.sh tests" >&2; exit 1; }
pin=()
[ "$threads" = 1 ] && pin=(taskset -c "$(($(nproc) - 1))")
mkdir -p "$folder"
for net in "${nets[@]}"; do
  [ -e "$folder/$net.onnx" ] || /usr/bin/python3 "$shared/bench/export_models.py" "$folder" "$net" >&2
  preprocess=(--preprocess imagenet-torch)
  [ "$net" = graycnn ] && preprocess=(--color gray --crop 224x224 --mean 127.5 --std 64)
  # shellcheck disable=SC2086 -- a list of options
  "$bin/quantize" --quiet --calib "$shared/pack/images/imagenet_calib" --max-samples 32 "${preprocess[@]}" $options "$folder/$net.onnx" \
    -o "$folder/$net.lqm" --export-qdq "$folder/$net.qdq.onnx" 2>/dev/null
done
ours() { "${pin[@]}" "$bin/lq-benchmark" "$1" --threads "$threads" --iterations "$runs" --warmup 3 ${isa:+--isa "$isa"} | sed -n 's/.* median \([0-9.]*\) .*/\1/p'; }
theirs() { "${pin[@]}" node "$root/benchmark/ort_time.js" "$ort" "$1" "$threads" "$runs"; }
echo "threads $threads, $rounds rounds of $runs runs, quantize $options${isa:+, --isa $isa}; medians in ms (lowest–highest round)"
printf '| net | ORT fp32 | ORT int8 | libquant int8 | of fp32 | of ORT int8 |\n|---|---|---|---|---|---|\n'
for net in "${nets[@]}"; do
  for ((round = 0; round < rounds; ++round)); do
    echo "$(theirs "$folder/$net.onnx") $(theirs "$folder/$net.qdq.onnx") $(ours "$folder/$net.lqm")"
  done | awk -v net="$net" '
    { for (i = 1; i <= 3; ++i) v[i, NR] = $i; f[NR] = $3 / $1; q[NR] = $3 / $2 }
    function sort(a, n,   i, j, t) { for (i = 2; i <= n; ++i) for (j = i; j > 1 && a[j - 1] > a[j]; --j) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t } }
    function column(i,   j, a) { for (j = 1; j <= NR; ++j) a[j] = v[i, j] + 0; sort(a, NR); return sprintf("%.2f (%.2f–%.2f)", a[int((NR + 1) / 2)], a[1], a[NR]) }
    END { sort(f, NR); sort(q, NR); m = int((NR + 1) / 2)
          printf "| %s | %s | %s | %s | %.2f | %.2f |\n", net, column(1), column(2), column(3), f[m], q[m] }'
done
