#!/usr/bin/env bash
# Everything run_tests.sh does and the long runs: 20,000 mutations of a model file, the accuracy table of every model.
# Usage: tools/run_full.sh   (some hours on two cores)
set -euo pipefail
cd "$(dirname "$0")/.."
tools/run_tests.sh
ctest --preset dev -L slow
ctest --preset release -L slow
benchmark/accuracy_table.sh docs/ACCURACY.md
