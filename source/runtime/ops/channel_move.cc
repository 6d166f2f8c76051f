#include "runtime/ops/channel_move.h"

#include <algorithm>
#include <cstring>

#include "runtime/ops/blocked.h"

namespace lq {
namespace {

constexpr int64_t kChunk = 1024;  // pixels of a block done at once: 8 KB of bytes from each source

/// What a block of an output takes from one block of an input.
struct BlockSource {
  size_t input = 0;
  int64_t block = 0;
  uint8_t lane[kBlock] = {};
};
struct MovedBlock {
  size_t output = 0;
  int64_t block = 0;
  bool copied = false;  // all of the one source's lanes, as they lie
  std::vector<BlockSource> sources;
};

struct ChannelMoveParams {
  ChannelMap map;
  std::vector<int64_t> input_channels, output_channels;
  int64_t n = 0, spatial = 0;
  size_t size = 1;  // of an element
  uint32_t fill = 0;
  MoveChannelsFn move = nullptr;
  std::vector<MovedBlock> blocks;  // of all outputs
};

/// The lanes of one block, grouped by the input block they come from.
MovedBlock gather_block(const ChannelMoveParams& p, size_t output, int64_t block) {
  MovedBlock moved{output, block, false, {}};
  const std::vector<ChannelRef>& channels = p.map[output];
  const int64_t first = block * kBlock, count = std::min<int64_t>(kBlock, int64_t(channels.size()) - first);
  for (int64_t i = 0; i < count; ++i) {
    const ChannelRef& ref = channels[size_t(first + i)];
    const int64_t from = ref.channel / kBlock;
    auto source = std::find_if(moved.sources.begin(), moved.sources.end(),
                               [&](const BlockSource& s) { return s.input == size_t(ref.input) && s.block == from; });
    if (source == moved.sources.end()) {
      moved.sources.push_back({size_t(ref.input), from, {}});
      source = moved.sources.end() - 1;
      std::fill(std::begin(source->lane), std::end(source->lane), kNoLane);
    }
    source->lane[i] = uint8_t(ref.channel % kBlock);
  }
  moved.copied = moved.sources.size() == 1 && count == kBlock;
  for (int64_t i = 0; i < count; ++i) moved.copied &= moved.sources[0].lane[i] == i;
  return moved;
}

void make_blocks(ChannelMoveParams& p) {
  p.blocks.clear();
  for (size_t o = 0; o < p.map.size(); ++o) {
    for (int64_t b = 0; b < channel_blocks(int64_t(p.map[o].size())); ++b) p.blocks.push_back(gather_block(p, o, b));
  }
}

/// `count` pixels from `first` on of one block of image n.
void move_block(const Step& step, const RunContext& context, const MovedBlock& moved, int64_t n, int64_t first,
                int64_t count) {
  const ChannelMoveParams& p = step.params_as<ChannelMoveParams>();
  const auto offset = [&](int64_t channels, int64_t block) {
    return ((n * channel_blocks(channels) + block) * p.spatial + first) * kBlock;
  };
  const int64_t at = offset(p.output_channels[moved.output], moved.block);
  uint8_t* y = context.output<uint8_t>(step, moved.output) + size_t(at) * p.size;
  ChannelSource sources[kBlock];
  for (size_t s = 0; s < moved.sources.size(); ++s) {
    const BlockSource& from = moved.sources[s];
    sources[s].x =
        context.input<uint8_t>(step, from.input) + size_t(offset(p.input_channels[from.input], from.block)) * p.size;
    std::memcpy(sources[s].lane, from.lane, sizeof from.lane);
  }
  if (moved.copied) {
    std::memcpy(y, sources[0].x, size_t(count * kBlock) * p.size);
  } else {
    p.move(sources, int(moved.sources.size()), p.fill, y, count);
  }
  if (moved.output == 0) finish_piece(step, context, at, count * kBlock);
}

Status run_channel_move(const Step& step, const RunContext& context) {
  const ChannelMoveParams& p = step.params_as<ChannelMoveParams>();
  const int64_t blocks = int64_t(p.blocks.size()), chunks = (p.spatial + kChunk - 1) / kChunk;
  const int64_t grain = std::max<int64_t>(1, kElementGrain / (kBlock * std::clamp<int64_t>(p.spatial, 1, kChunk)));
  parallel(context, p.n * blocks * chunks, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % chunks * kChunk, plane = i / chunks;
      const MovedBlock& moved = p.blocks[size_t(plane % blocks)];
      if (context.data[step.outputs[moved.output]] == nullptr) continue;
      move_block(step, context, moved, plane / blocks, first, std::min(kChunk, p.spatial - first));
    }
  });
  return {};
}

}  // namespace

bool is_channel_move(const Step& step) { return step.run == run_channel_move; }

Status prepare_channel_move(OpPrepare& p, ChannelMap map) {
  size_t any = 0;  // an output somebody wants
  while (any < p.node.outputs.size() && !p.has_output(any)) ++any;
  if (any == p.node.outputs.size()) return internal_error("no output is wanted");
  const Tensor& y = p.output(any);
  ChannelMoveParams& params = p.make_params<ChannelMoveParams>();
  params.n = y.shape[0];
  params.spatial = dims_product(y.shape, 2, y.shape.size());
  params.size = dtype_size(y.dtype);
  params.fill = lane_fill(y);
  const auto fits = [&](const Tensor& t) {
    return is_blocked(t) && t.dtype == y.dtype && t.shape.size() == y.shape.size() && t.shape[0] == y.shape[0] &&
           std::equal(t.shape.begin() + 2, t.shape.end(), y.shape.begin() + 2) && lane_fill(t) == params.fill;
  };
  // Step inputs behind the data (sizes, indices) are not looked at again; they are constants.
  std::vector<bool> read(p.node.inputs.size(), false);
  for (size_t o = 0; o < map.size(); ++o) {
    if (!p.has_output(o)) map[o].clear();
    for (const ChannelRef& ref : map[o]) read[size_t(ref.input)] = true;
    params.output_channels.push_back(int64_t(map[o].size()));
    if (p.has_output(o) && (!fits(p.output(o)) || p.output(o).shape[1] != int64_t(map[o].size())))
      return internal_error("an output of moved channels is of another kind");
  }
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i] && !fits(p.input(i))) return internal_error("an input of moved channels is of another kind");
    params.input_channels.push_back(read[i] ? p.input(i).shape[1] : 0);
    if (!read[i]) p.step.inputs[i] = kNoTensor;
  }
  params.map = std::move(map);
  make_blocks(params);
  const ElementwiseKernels& k = elementwise_kernels(p.isa);
  if (params.size != 1 && params.size != 4)
    return unsupported(std::string("moving channels of ") + dtype_name(y.dtype));
  const Kernel<MoveChannelsFn>& kernel = params.size == 1 ? k.move_channels_1 : k.move_channels_4;
  params.move = kernel.run;
  p.step.finishes_pieces = p.has_output(0);
  p.set(kernel.name, kernel.isa, run_channel_move);
  return {};
}

bool can_join_moves(const Step& earlier, const Step& later) {
  const ChannelMoveParams& a = earlier.params_as<ChannelMoveParams>();
  const ChannelMoveParams& b = later.params_as<ChannelMoveParams>();
  return a.n == b.n && a.spatial == b.spatial && a.size == b.size && a.fill == b.fill;
}

void join_moves(const Step& earlier, size_t o, Step& later) {
  const ChannelMoveParams& a = earlier.params_as<ChannelMoveParams>();
  ChannelMoveParams& b = *static_cast<ChannelMoveParams*>(later.params.get());
  std::vector<int32_t> place(earlier.inputs.size(), -1);  // of earlier's inputs among later's
  for (std::vector<ChannelRef>& channels : b.map) {
    for (ChannelRef& ref : channels) {
      if (later.inputs[size_t(ref.input)] != earlier.outputs[o]) continue;
      const ChannelRef from = a.map[o][size_t(ref.channel)];
      int32_t& at = place[size_t(from.input)];
      if (at < 0) {
        at = int32_t(later.inputs.size());
        later.inputs.push_back(earlier.inputs[size_t(from.input)]);
        b.input_channels.push_back(a.input_channels[size_t(from.input)]);
      }
      ref = {at, from.channel};
    }
  }
  std::replace(later.inputs.begin(), later.inputs.end(), earlier.outputs[o], kNoTensor);
  make_blocks(b);
  later.detail += (later.detail.empty() ? "with " : ", ") + std::string(op_name(earlier.op));
  if (!earlier.detail.empty()) later.detail += ' ' + earlier.detail;
}

}  // namespace lq
