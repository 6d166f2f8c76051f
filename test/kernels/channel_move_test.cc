// Channels and pixels moved between NCHWc8 tensors: the shuffle kernels of every ISA, and Concat, Split, Slice, Gather
// and Pad against plain indexing of linear tensors.
#include <algorithm>

#include "kernels/elementwise_kernels.h"
#include "kernels/op_case.h"

namespace lq::test {
namespace {

struct Source {
  std::vector<uint32_t> pixels;
  uint8_t lane[kBlock];
};

/// `sources` blocks of random bits and lanes; some lanes of the output have no source.
std::vector<Source> random_sources(int sources, int64_t count, std::mt19937& random) {
  std::vector<Source> result(static_cast<size_t>(sources));
  for (Source& s : result) {
    for (int64_t i = 0; i < count * kBlock; ++i) s.pixels.push_back(random());
    std::fill(std::begin(s.lane), std::end(s.lane), kNoLane);
  }
  for (int i = 0; i < kBlock; ++i) {
    if (random() % 4 != 0) result[random() % result.size()].lane[i] = uint8_t(random() % kBlock);
  }
  return result;
}

template <typename T>
void expect_moved(const Kernel<MoveChannelsFn>& kernel, const std::vector<Source>& sources, int64_t count) {
  constexpr uint32_t kFill = 0x8badf085u;
  std::vector<std::vector<T>> data;
  std::vector<ChannelSource> args;
  std::vector<T> expected(size_t(count) * kBlock, T(kFill));
  for (const Source& s : sources) {
    const std::vector<T>& x = data.emplace_back(s.pixels.begin(), s.pixels.end());
    args.push_back({x.data(), {}});
    std::copy(std::begin(s.lane), std::end(s.lane), args.back().lane);
    for (size_t at = 0; at < expected.size(); ++at) {
      const uint8_t lane = s.lane[at % kBlock];
      if (lane != kNoLane) expected[at] = x[at / kBlock * kBlock + lane];
    }
  }
  expected.push_back(T(77));
  std::vector<T> y(expected.size(), T(77));
  kernel.run(args.data(), int(args.size()), kFill, y.data(), count);
  ASSERT_EQ(y, expected) << kernel.name << ", " << sources.size() << " sources, " << count << " pixels";
}

TEST(MoveChannels, AnyLanesOfAnyBlocks) {
  std::mt19937 random(1);
  for (int i = 0; i < kIsaCount; ++i) {
    if (!is_isa_built(Isa(i)) || !is_isa_supported(Isa(i))) continue;
    const ElementwiseKernels& k = elementwise_kernels(Isa(i));
    for (int sources = 1; sources <= kBlock; ++sources) {
      for (int64_t count : {0, 1, 2, 3, 4, 5, 7, 8, 31, 64}) {
        const std::vector<Source> s = random_sources(sources, count, random);
        expect_moved<uint8_t>(k.move_channels_1, s, count);
        expect_moved<uint32_t>(k.move_channels_4, s, count);
      }
    }
  }
}

template <typename T>
std::vector<T> random_values(int64_t n, uint32_t seed) {
  if constexpr (sizeof(T) == 1) {
    return random_s8(n, seed);
  } else {
    return random_f32(n, seed);
  }
}
template <typename T>
std::optional<QuantParams> params() {
  if constexpr (sizeof(T) == 1) return s8(0.5f, -9);
  return {};
}

/// Rows of x [n, c, s] in another order: y[n, i, s] = x[n, channels[i], s].
template <typename T>
std::vector<T> pick(const std::vector<T>& x, const Shape& shape, const std::vector<int64_t>& channels) {
  const int64_t spatial = count_of(shape) / (shape[0] * shape[1]);
  std::vector<T> y;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c : channels) {
      const auto row = x.begin() + (n * shape[1] + c) * spatial;
      y.insert(y.end(), row, row + spatial);
    }
  }
  return y;
}

template <typename T>
class MovedType : public ::testing::Test {};
using MovedTypes = ::testing::Types<int8_t, float>;
TYPED_TEST_SUITE(MovedType, MovedTypes);

TYPED_TEST(MovedType, ConcatOfAnyChannels) {
  using T = TypeParam;
  const std::vector<std::vector<int64_t>> cases = {{8, 8},          {3},        {5, 4},   {58, 58},
                                                   {1, 2, 3, 4, 5}, {16, 7, 9}, {9, 0, 8}};
  for (const auto& channels : cases) {
    for (const Shape& spatial : {Shape{5, 7}, Shape{1, 1}, Shape{6}}) {
      OpCase c(Op::Concat);
      mutable_attrs<schema::AxisAttrsT>(c.node()).axis = -int64_t(spatial.size()) - 1;  // the channels, from the end
      std::vector<std::vector<T>> parts;
      int64_t total = 0;
      Shape shape = {2, 0};
      shape.insert(shape.end(), spatial.begin(), spatial.end());
      for (int64_t n : channels) {
        shape[1] = n;
        total += n;
        parts.push_back(random_values<T>(count_of(shape), uint32_t(total)));
        c.input(shape, parts.back(), true, params<T>());
      }
      std::vector<T> expected;
      for (size_t n = 0; n < 2; ++n) {
        for (const std::vector<T>& part : parts) {
          const auto half = part.begin() + std::ptrdiff_t(n * part.size() / 2);
          expected.insert(expected.end(), half, half + std::ptrdiff_t(part.size() / 2));
        }
      }
      shape[1] = total;
      c.output(dtype_of<T>(), shape, true, params<T>());
      c.expect(expected);
    }
  }
}

TYPED_TEST(MovedType, SplitAtAnyChannel) {
  using T = TypeParam;
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{8, 8}, {29, 29}, {5, 11, 4}, {7, 0, 9}, {24, 1}}) {
    int64_t total = 0;
    for (int64_t n : sizes) total += n;
    const Shape shape = {2, total, 4, 5};
    const std::vector<T> x = random_values<T>(count_of(shape), 11);
    OpCase c(Op::Split);
    mutable_attrs<schema::AxisAttrsT>(c.node()).axis = 1;
    c.input(shape, x, true, params<T>()).constant({int64_t(sizes.size())}, sizes);
    for (int64_t n : sizes) c.output(dtype_of<T>(), {2, n, 4, 5}, true, params<T>());
    for (Isa isa : {Isa::kScalar, best_isa()}) {
      const Status status = c.run(isa, 2);
      ASSERT_TRUE(status.ok()) << status.message();
      int64_t at = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        std::vector<int64_t> channels;
        for (int64_t n = 0; n < sizes[i]; ++n) channels.push_back(at++);
        EXPECT_EQ(c.result<T>(i), pick(x, shape, channels)) << "output " << i;
      }
    }
  }
}

TYPED_TEST(MovedType, SliceAndGatherOfChannels) {
  using T = TypeParam;
  const Shape shape = {2, 21, 3, 3};
  const std::vector<T> x = random_values<T>(count_of(shape), 12);
  const struct {
    int64_t start, end, step;
    std::vector<int64_t> channels;
  } slices[] = {{3, 12, 1, {3, 4, 5, 6, 7, 8, 9, 10, 11}},
                {-1, INT64_MIN, -4, {20, 16, 12, 8, 4, 0}},
                {1, INT64_MAX, 5, {1, 6, 11, 16}},
                {8, 16, 1, {8, 9, 10, 11, 12, 13, 14, 15}}};
  for (const auto& s : slices) {
    OpCase slice(Op::Slice);
    slice.input(shape, x, true, params<T>());
    for (int64_t v : {s.start, s.end, int64_t(-3), s.step}) slice.constant<int64_t>({1}, {v});
    slice.output(dtype_of<T>(), {2, int64_t(s.channels.size()), 3, 3}, true, params<T>());
    slice.expect(pick(x, shape, s.channels));
    std::vector<int64_t> indices = s.channels;
    for (size_t i = 0; i < indices.size(); i += 2) indices[i] -= 21;  // from the end
    indices.push_back(0);                                             // again
    std::vector<int64_t> channels = s.channels;
    channels.push_back(0);
    OpCase gather(Op::Gather);
    mutable_attrs<schema::AxisAttrsT>(gather.node()).axis = 1;
    gather.input(shape, x, true, params<T>()).constant({int64_t(indices.size())}, indices);
    gather.output(dtype_of<T>(), {2, int64_t(indices.size()), 3, 3}, true, params<T>());
    gather.expect(pick(x, shape, channels));
  }
  OpCase outside(Op::Gather);
  mutable_attrs<schema::AxisAttrsT>(outside.node()).axis = 1;
  outside.input(shape, x, true, params<T>());
  outside.constant<int64_t>({2}, {0, 21});
  outside.output(dtype_of<T>(), {2, 2, 3, 3}, true, params<T>());
  EXPECT_EQ(outside.run(Isa::kScalar, 1).message(), "index 21 is outside the axis of 21");
}

/// y[n, c, i, j] = f(x, n, c, i, j).
template <typename T, typename F>
std::vector<T> fill(const Shape& shape, F f) {
  std::vector<T> y;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (int64_t i = 0; i < shape[2]; ++i) {
        for (int64_t j = 0; j < shape[3]; ++j) y.push_back(f(n, c, i, j));
      }
    }
  }
  return y;
}

TYPED_TEST(MovedType, SliceAndSplitOfPixels) {
  using T = TypeParam;
  const Shape shape = {3, 13, 6, 7};
  const std::vector<T> x = random_values<T>(count_of(shape), 13);
  const auto at = [&](int64_t n, int64_t c, int64_t i, int64_t j) { return x[size_t(((n * 13 + c) * 6 + i) * 7 + j)]; };
  OpCase slice(Op::Slice);  // images 2 and 1, rows 1 to 4, every third column
  slice.clean_lanes().input(shape, x, true, params<T>());
  slice.constant<int64_t>({3}, {-1, 1, 0}).constant<int64_t>({3}, {0, 5, 7});
  slice.constant<int64_t>({3}, {0, 2, 3}).constant<int64_t>({3}, {-1, 1, 3});
  const Shape cut = {2, 13, 4, 3};
  slice.output(dtype_of<T>(), cut, true, params<T>());
  slice.expect(fill<T>(cut, [&](auto n, auto c, auto i, auto j) { return at(2 - n, c, i + 1, 3 * j); }));

  OpCase split(Op::Split);
  mutable_attrs<schema::AxisAttrsT>(split.node()).axis = -2;
  split.clean_lanes().input(shape, x, true, params<T>());
  const Shape half = {3, 13, 3, 7};
  split.output(dtype_of<T>(), half, true, params<T>()).output(dtype_of<T>(), half, true, params<T>());
  split.expect(fill<T>(half, at));
  EXPECT_EQ(split.result<T>(1), fill<T>(half, [&](auto n, auto c, auto i, auto j) { return at(n, c, i + 3, j); }));
}

TYPED_TEST(MovedType, PadOfPixels) {
  using T = TypeParam;
  const Shape shape = {2, 11, 4, 5}, wide = {2, 11, 7, 5};  // two rows before, one behind; a column cut off, one added
  const std::vector<T> x = random_values<T>(count_of(shape), 14);
  const auto padded = [&](auto row, auto column, T value) {
    return fill<T>(wide, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
      const int64_t r = row(i - 2), k = column(j + 1);
      return r < 0 || k < 0 ? value : x[size_t(((n * 11 + c) * 4 + r) * 5 + k)];
    });
  };
  const auto inside = [](int64_t size) { return [size](int64_t i) { return i < size ? i : int64_t(-1); }; };
  const auto nearest = [](int64_t size) { return [size](int64_t i) { return std::clamp<int64_t>(i, 0, size - 1); }; };
  const auto mirrored = [](int64_t size) {
    return [size](int64_t i) { return i < 0 ? -i : (i < size ? i : 2 * (size - 1) - i); };
  };
  const auto run = [&](schema::PadMode mode, const std::vector<T>& expected) {
    OpCase c(Op::Pad);
    mutable_attrs<schema::PadAttrsT>(c.node()).mode = mode;
    c.clean_lanes().input(shape, x, true, params<T>()).template constant<int64_t>({8}, {0, 0, 2, -1, 0, 0, 1, 1});
    if (mode == schema::PadMode::Constant) c.template constant<float>({}, {3.0f});
    c.output(dtype_of<T>(), wide, true, params<T>());
    c.expect(expected);
  };
  // 3.0 as int8 with scale 0.5 and zero point -9.
  run(schema::PadMode::Constant, padded(inside(4), inside(5), sizeof(T) == 1 ? T(-3) : T(3)));
  run(schema::PadMode::Edge, padded(nearest(4), nearest(5), T(0)));
  run(schema::PadMode::Reflect, padded(mirrored(4), mirrored(5), T(0)));
}

}  // namespace
}  // namespace lq::test
