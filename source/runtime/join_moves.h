// Steps of a plan that only move channels, one after the other, become one.
#pragma once
#include <vector>

#include "runtime/op.h"

namespace lq {

/// A move of channels whose outputs are read by such moves alone goes into them. `needed`, by tensor: somebody else
/// wants it (a graph output, a tensor that shares its storage). Says which steps have nothing left to do.
std::vector<bool> join_channel_moves(std::vector<Step>& steps, const std::vector<bool>& needed);

}  // namespace lq
