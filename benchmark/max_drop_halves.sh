#!/usr/bin/env bash
# Does --max-drop hold on images it has not seen? Each classifier of ../shared/pack is quantized with --max-drop P --validate on every
# other labelled image, then float and INT8 are evaluated on the rest. Writes a table; fails if a drop there is above P or less than
# 85 % of the multiply-adds stay in int8. One image is 0.5 points where there are 200: such a table scatters.
# Needs the release build's tools and the folder ../shared (or LQ_SHARED).
# Usage: benchmark/max_drop_halves.sh [OUTPUT.md] [REGEX] [P] [THREADS]     default: standard output, every model, 0.3, 2
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-/dev/stdout} only=${2:-.} allowed=${3:-0.3} threads=${4:-2}
shared=${LQ_SHARED:-../shared}
bin=${LQ_BIN:-build/release/tools}
pack=$shared/pack
[ -d "$pack/models" ] || { echo "max_drop_halves.sh: $pack/models not found; set LQ_SHARED" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The classifiers of accuracy_table.sh: name, calibration, evaluation, label offset, drop allowed there, preprocessing.
table=$(sed -n '/^tf=/,/^cifar=/p; /^table="/,/^"/p' benchmark/accuracy_table.sh)
eval "$table"
field() { awk -v key="$2" '{for (i = 1; i < NF; ++i) if ($i == key) {print $(i + 1); exit}}' <<<"$1"; }

# half FOLDER REMAINDER: links to every other line of labels.tsv
half() {
  local to=$work/$(basename "$1")_$2
  [ -d "$to" ] && { echo "$to"; return; }
  mkdir -p "$to"
  awk -v r="$2" 'NR % 2 == r' "$1/labels.tsv" >"$to/labels.tsv"
  cut -f1 "$to/labels.tsv" | while read -r file; do
    mkdir -p "$to/$(dirname "$file")"
    ln -s "$(realpath "$1/$file")" "$to/$file"
  done
  echo "$to"
}

rows="" failed=0
while IFS='|' read -r name calib data offset _ options; do
  [ -n "$name" ] && [ "$offset" != - ] && [[ $name =~ $only ]] || continue
  model=$pack/models/$name.onnx lqm=$work/$name.lqm
  seen=$(half "$pack/images/$data" 1) other=$(half "$pack/images/$data" 0)
  limit=(); [ "$calib" = imagenet_calib ] || limit=(--max-samples 128)
  start=$SECONDS
  said=$("$bin/quantize" --threads "$threads" --calib "$pack/images/$calib" "${limit[@]}" $options --max-drop "$allowed" --validate "$seen" \
    --label-offset "$offset" -o "$lqm" "$model" 2>/dev/null | grep '^max-drop')
  seconds=$((SECONDS - start))
  share=$(field "$("$bin/lq-inspect" "$lqm" | grep int8_mac_share)" int8_mac_share)
  int8=$("$bin/lq-eval" --quiet --threads "$threads" --data "$other" --label-offset "$offset" "$lqm")
  fp32=$(field "$("$bin/lq-eval" --quiet --threads "$threads" --data "$other" --label-offset "$offset" $options "$model")" top1)
  n=$(field "$int8" n)
  drop=$(awk -v a="$fp32" -v b="$(field "$int8" top1)" 'BEGIN {printf "%.1f", 100 * (a - b)}')
  if awk -v d="$drop" -v p="$allowed" -v s="$share" 'BEGIN {exit !(d > p || s < 0.85)}'; then
    failed=1 drop="**$drop**"
  fi
  rows+="| $name | $(sed 's/.* samples \([-0-9.]*\) -> \([-0-9.]*\).*/\1 | \2/' <<<"$said") | $drop | $n | $share | $seconds s |"$'\n'
  echo "$name: $said; on the other $n: $drop; int8 $share; $seconds s" >&2
done <<<"$table"

cat >"$work/out.md" <<EOT
| model | drop as it was, validated half | with --max-drop $allowed | on the other half | images there | int8 MACs | time |
|---|---|---|---|---|---|---|
$rows
EOT
cat "$work/out.md" >"$output"
[ "$failed" = 0 ] || { echo "max_drop_halves.sh: a drop on the other half is too large, or too little stays in int8" >&2; exit 1; }
