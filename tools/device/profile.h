// The per-operator table of lq-run and lq-benchmark.
#pragma once
#include <vector>

#include "runtime/session.h"

namespace lq::tools {

/// One row an operator: kernel, milliseconds, share, GMAC/s; then the share of multiply-adds by ISA.
void print_profile(const std::vector<Step>& steps, const std::vector<StepTime>& times);

}  // namespace lq::tools
