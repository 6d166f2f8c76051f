#!/usr/bin/env bash
# Everything run_tests.sh does and the long runs: many times the random graphs (plan against reference), optimised and under
# sanitizers, and the accuracy table of every model.
# Usage: tools/run_full.sh   (some hours on two cores)
set -euo pipefail
cd "$(dirname "$0")/.."
tools/run_tests.sh
rounds=${LQ_RANDOM_ROUNDS:-200}
LQ_RANDOM_ROUNDS=$rounds build/release/test/reference/rules/test_reference --gtest_brief=1
LQ_RANDOM_ROUNDS=$((rounds / 10 + 1)) build/dev/test/reference/rules/test_reference --gtest_brief=1
benchmark/accuracy_table.sh docs/ACCURACY.md
