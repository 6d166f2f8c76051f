#include "runtime/join_moves.h"

#include <algorithm>

#include "runtime/ops/channel_move.h"

namespace lq {
namespace {

/// Steps by tensor: who reads it.
std::vector<std::vector<size_t>> readers_of(const std::vector<Step>& steps, size_t tensors) {
  std::vector<std::vector<size_t>> readers(tensors);
  for (size_t s = 0; s < steps.size(); ++s) {
    for (TensorId id : steps[s].inputs) {
      if (id != kNoTensor && (readers[size_t(id)].empty() || readers[size_t(id)].back() != s))
        readers[size_t(id)].push_back(s);
    }
  }
  return readers;
}

}  // namespace

std::vector<bool> join_channel_moves(std::vector<Step>& steps, const std::vector<bool>& needed) {
  const std::vector<std::vector<size_t>> readers = readers_of(steps, needed.size());
  std::vector<bool> gone(steps.size(), false);
  for (size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[s];
    if (!is_channel_move(step)) continue;
    // All outputs or none: where one must be written anyway, reading the inputs once more gains nothing.
    gone[s] = std::all_of(step.outputs.begin(), step.outputs.end(), [&](TensorId id) {
      if (id == kNoTensor) return true;
      const std::vector<size_t>& list = readers[size_t(id)];
      return !needed[size_t(id)] && !list.empty() && std::all_of(list.begin(), list.end(), [&](size_t r) {
        return is_channel_move(steps[r]) && can_join_moves(step, steps[r]);
      });
    });
    if (!gone[s]) continue;
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      if (step.outputs[o] == kNoTensor) continue;
      for (size_t reader : readers[size_t(step.outputs[o])]) join_moves(step, o, steps[reader]);
    }
  }
  return gone;
}

}  // namespace lq
