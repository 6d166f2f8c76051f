// Whole channels from NCHWc8 tensors to NCHWc8 tensors: Concat, Split, Slice and Gather along the channel axis. Each
// output block is put together from the input blocks its channels lie in, so any order costs about the same; several
// such steps in a row are one.
#pragma once
#include "runtime/op.h"

namespace lq {

/// A channel of a step's input.
struct ChannelRef {
  int32_t input = 0, channel = 0;
};
/// By output and channel of it: where the channel comes from.
using ChannelMap = std::vector<std::vector<ChannelRef>>;

/// Makes the step for blocked inputs and outputs of one type and equal parameters, which differ in channels only.
Status prepare_channel_move(OpPrepare& p, ChannelMap map);
bool is_channel_move(const Step& step);

/// For channel moves: whether `later` can read what `earlier` reads instead of earlier's output o; and making it so,
/// for all the places where it reads that output.
bool can_join_moves(const Step& earlier, const Step& later);
void join_moves(const Step& earlier, size_t o, Step& later);

}  // namespace lq
