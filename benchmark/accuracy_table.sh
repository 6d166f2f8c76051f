#!/usr/bin/env bash
# Quantizes every model of ../shared/pack with default options and writes docs/ACCURACY.md: float and INT8 accuracy, agreement,
# SQNR, int8 share of multiply-adds, size; then what detectors, pictures, text and speech are for (test/conformance). Needs the
# release build with its tests and the folder ../shared (or LQ_SHARED for the table of models).
# Usage: benchmark/accuracy_table.sh [OUTPUT.md] [REGEX]     default docs/ACCURACY.md, every model; REGEX picks models by name
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-docs/ACCURACY.md} only=${2:-.}
shared=${LQ_SHARED:-../shared}
bin=${LQ_BIN:-build/release/tools}
pack=$shared/pack
[ -d "$pack/models" ] || { echo "accuracy_table.sh: $pack/models not found; set LQ_SHARED" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tf="--mean 127.5 --std 127.5"
cifar="--mean 123.675,116.28,103.53 --std 58.395,57.12,57.375"
# model | calibration | evaluation folder or - | label offset | drop allowed (points) or - | preprocessing
table="
mnist|mnist_calib|mnist|0|0.3|--preprocess raw
resnet20_cifar10_bn|cifar10_calib|cifar10|0|0.8|$cifar
resnet56_cifar10_bn|cifar10_calib|cifar10|0|1.0|$cifar
mbv2s_cifar10_bn|cifar10_calib|cifar10|0|1.5|--mean 125.307,122.961,113.8575 --std 62.985,62.0925,66.708
mlperftiny_resnet8_cifar10|cifar10_calib|cifar10|0|1.0|--preprocess raw
mlperftiny_resnet_large_cifar10|cifar10_calib|cifar10|0|0.8|--preprocess raw
squeezenet1.0_deepcomp_fp32|imagenet_calib|imagenet|0|1.5|--color bgr --mean 104,117,123 --crop 227x227
mobilenet_v1_0.25_128_quant_dequant_fp32|imagenet_calib|imagenet|1|-|$tf --crop 224x224 --resize 128x128
mobilenet_v1_0.5_160_quant_dequant_fp32|imagenet_calib|imagenet|1|2.0|$tf --crop 224x224 --resize 160x160
mcunet_imagenet_dequant_fp32|imagenet_calib|imagenet|0|3.0|$tf --crop 224x224 --resize 144x144
tf2_mobilenet_v2_1.0_224_ptq_dequant_fp32|imagenet_calib|imagenet|1|2.0|$tf --crop 224x224
tf2_mobilenet_v2_1.0_224_offgrid_fp32|imagenet_calib|imagenet|1|-|$tf --crop 224x224
mlperftiny_vww_mobilenetv1_0.25_96|imagenet_calib|imagenet_calib|-|-|--std 255 --crop 224x224 --resize 96x96
yunet_n_320_320|faces|faces|-|-|--color bgr --letterbox
version-RFB-320|faces|faces|-|-|--mean 127 --std 128 --resize 320x240
FastestDet|coco_like|coco_like|-|-|--color bgr --std 255 --resize 352x352
deeplabv3_mnv2_dm05_pascal_dequant_fp32|imagenet_calib|seg|-|-|$tf --resize 513x513
superres_subpixel_x3|imagenet_calib|imagenet_calib|-|-|--std 255 --crop 84x84 --input-shape input:1,1,84,84
ch_ppocr_mobile_v2.0_cls_infer|ocr|ocr|-|-|--color bgr --mean 127.5 --std 127.5 --resize 192x48 --input-shape x:1,3,48,192
ch_PP-OCRv4_det_infer|ocr|ocr|-|-|--color bgr --mean 123.675,116.28,103.53 --std 58.395,57.12,57.375 --resize 480x480 --input-shape x:1,3,480,480
ch_PP-OCRv4_rec_infer|ocr|ocr|-|-|--color bgr --mean 127.5 --std 127.5 --resize 400x48 --input-shape x:1,3,48,400
"
# Best agreement and SQNR any peer reached on the same images with its own flow (MNN KL and EMA, ncnn KL, ONNX Runtime QDQ in exact mode).
declare -A peers=(
  [mnist]="100 / 36.3" [resnet20_cifar10_bn]="99.3 / 29.8" [resnet56_cifar10_bn]="99.4 / 28.3" [mbv2s_cifar10_bn]="98.4 / 31.5"
  [mlperftiny_resnet8_cifar10]="98.4 / 32.0" [mlperftiny_resnet_large_cifar10]="98.9 / 33.9"
  [squeezenet1.0_deepcomp_fp32]="91.2 / 25.6" [mobilenet_v1_0.25_128_quant_dequant_fp32]="86.0 / 19.7"
  [mobilenet_v1_0.5_160_quant_dequant_fp32]="90.0 / 20.6" [mcunet_imagenet_dequant_fp32]="92.5 / 22.0"
  [tf2_mobilenet_v2_1.0_224_ptq_dequant_fp32]="99.2 / 22.3" [tf2_mobilenet_v2_1.0_224_offgrid_fp32]="94.8 / 14.3"
)
field() { awk -v key="$2" '{for (i = 1; i < NF; ++i) if ($i == key) {print $(i + 1); exit}}' <<<"$1"; }
percent() { awk -v v="$1" 'BEGIN {printf "%.1f", 100 * v}'; }

rows="" failed=0
while IFS='|' read -r name calib data offset allowed options; do
  [ -n "$name" ] && [[ $name =~ $only ]] || continue
  model=$pack/models/$name.onnx lqm=$work/$name.lqm
  limit=(); [ "$calib" = imagenet_calib ] || limit=(--max-samples 128)
  "$bin/quantize" --quiet --calib "$pack/images/$calib" "${limit[@]}" $options -o "$lqm" "$model"
  shape=$(grep -o -- '--input-shape [^ ]*' <<<"$options" || true)
  share=$(field "$("$bin/lq-inspect" $shape "$lqm" | grep int8_mac_share)" int8_mac_share)
  size=$(awk -v a="$(stat -c %s "$lqm")" -v b="$(stat -c %s "$model")" 'BEGIN {printf "%.3f", a / b}')
  fp32=- int8=- drop=-
  if [ "$offset" != - ]; then
    fp32=$(field "$("$bin/lq-eval" --quiet --data "$pack/images/$data" --label-offset "$offset" $options "$model")" top1)
    int8=$(field "$("$bin/lq-eval" --quiet --data "$pack/images/$data" --label-offset "$offset" "$lqm")" top1)
    drop=$(awk -v a="$fp32" -v b="$int8" 'BEGIN {printf "%.1f", 100 * (a - b)}')
    if [ "$allowed" != - ] && awk -v d="$drop" -v a="$allowed" 'BEGIN {exit !(d > a)}'; then
      failed=1; drop="**$drop**"
    fi
    fp32=$(percent "$fp32") int8=$(percent "$int8")
  fi
  # Agreement: the float side is the same file converted without quantization, so both carry the same preprocessing.
  "$bin/quantize" --quiet --float $options -o "$work/float.lqm" "$model"
  text=$("$bin/lq-eval" --quiet $shape --data "$pack/images/$data" ${offset:+$([ "$offset" = - ] || echo --label-offset "$offset")} --compare "$work/float.lqm" "$lqm")
  agreement=$(percent "$(field "$text" agreement)") sqnr=$(field "$text" sqnr_db)
  rows+="| $name | $fp32 | $int8 | $drop | $allowed | $agreement | $sqnr | ${peers[$name]:--} | $share | $size |"$'\n'
  echo "$name fp32 $fp32 int8 $int8 drop $drop (allowed $allowed) agreement $agreement sqnr $sqnr int8_mac_share $share size $size" >&2
done <<<"$table"

# Tasks: the tests print a row each. A test that fails has its row, too, and ends the script at its end.
tests=${LQ_TESTS:-build/release/test/conformance/test_conformance} tasks=""
if [ "$only" = . ]; then
  "$tests" --gtest_filter='*Tasks.*:*Detectors*' >"$work/tasks.txt" 2>&1 || failed=1
  tasks=$(grep '^task ' "$work/tasks.txt" | sed 's/^task //')
fi

cat >"$work/out.md" <<EOT
# Accuracy
Made by \`benchmark/accuracy_table.sh\` on $(date +%Y-%m-%d): every model quantized with default options on its calibration folder (at most 128 samples), then
float and INT8 evaluated on the labelled images. Drop and allowed drop in top-1 points; agreement: share of images whose top-1 entry of the first output
equals float's (meaningful for classifiers); SQNR in dB over all outputs; best peer: agreement / SQNR, the best of MNN, ncnn and ONNX Runtime
on the same images, each with its own flow, for orientation; int8 share of Conv/Gemm/MatMul multiply-adds; size relative to the float file.

| model | fp32 top-1 | INT8 top-1 | drop | allowed | agreement | SQNR dB | best peer | int8 MACs | size |
|---|---|---|---|---|---|---|---|---|---|
$rows
What the other networks are for, on data they were not calibrated with where the pack has any:

| task | float | INT8 | wanted |
|---|---|---|---|
$tasks
EOT
cat >>"$work/out.md" <<'EOT'

Not reached with default options: the denoiser at four steps (its output would need some 49 dB at step 800; the pixels it reads in 8 bits
alone give less), the text of the page's lines letter by letter (the two networks together; float misreads the line cut by the edge, too),
and one box of FastestDet whose score lies on the threshold (0.638 in float, threshold 0.65).
EOT
cp "$work/out.md" "$output"
[ "$failed" = 0 ] || { echo "accuracy_table.sh: a drop is larger than allowed, or a task failed" >&2; exit 1; }
