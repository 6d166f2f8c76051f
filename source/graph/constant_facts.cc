#include "graph/constant_facts.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace lq {
namespace {

constexpr uint64_t kReadings = 20, kFreeWork = 1 << 24;

template <typename T>
std::pair<int64_t, int64_t> extremes_of(const Bytes& data) {
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < data.size() / sizeof(T); ++i) {
    T v;
    std::memcpy(&v, data.data() + i * sizeof(T), sizeof(T));
    if (i == 0) low = high = v;
    low = std::min<int64_t>(low, v);
    high = std::max<int64_t>(high, v);
  }
  return {low, high};
}

/// Of bytes: the first and the last value that occurs. All weights of a file come by here when it is loaded, in code
/// compiled for size.
template <typename T>
std::pair<int64_t, int64_t> extremes_of_bytes(const Bytes& data) {
  if (data.size() == 0) return {0, 0};
  bool occurs[256] = {};
  for (size_t i = 0; i < data.size(); ++i) occurs[data.data()[i]] = true;
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (int bits = 0; bits < 256; ++bits) {
    if (!occurs[bits]) continue;
    low = std::min<int64_t>(low, T(bits));
    high = std::max<int64_t>(high, T(bits));
  }
  return {low, high};
}

std::pair<int64_t, int64_t> extremes_of(const Tensor& t) {
  switch (t.dtype) {
    case DType::Int8:
      return extremes_of_bytes<int8_t>(t.data);
    case DType::UInt8:
      return extremes_of_bytes<uint8_t>(t.data);
    case DType::Int16:
      return extremes_of<int16_t>(t.data);
    case DType::Int32:
      return extremes_of<int32_t>(t.data);
    default:
      return {0, 0};
  }
}

/// Σ |q|, eight bytes at a time in one word.
int64_t sum_of_sizes(const int8_t* q, int64_t n) {
  constexpr uint64_t kOnes = 0x0101010101010101u, kEven = 0x00ff00ff00ff00ffu;
  constexpr int64_t kWords = 255;  // each adds at most 2 · 128 to a field of 16 bits
  int64_t sum = 0, i = 0;
  while (i + 8 <= n) {
    uint64_t fields = 0;
    const int64_t end = std::min(n - n % 8, i + 8 * kWords);
    for (; i < end; i += 8) {
      uint64_t v;
      std::memcpy(&v, q + i, sizeof v);
      const uint64_t negative = v >> 7 & kOnes;
      v = (v ^ negative * 0xff) + negative;  // |q| in each byte, 128 at most: nothing is carried
      fields += (v & kEven) + (v >> 8 & kEven);
    }
    for (; fields != 0; fields >>= 16) sum += int64_t(fields & 0xffff);
  }
  for (; i < n; ++i) sum += q[i] < 0 ? -int64_t(q[i]) : int64_t(q[i]);
  return sum;
}

std::vector<int64_t> sums_of(const int8_t* q, const WeightView& v) {
  std::vector<int64_t> sums(size_t(v.dim * v.groups), 0), largest(size_t(v.dim * v.groups), 0);
  for (int64_t o = 0; o < v.outer; ++o) {
    const int64_t group = v.groups == 1 ? 0 : o / (v.outer / v.groups);
    for (int64_t c = 0; c < v.dim; ++c) {
      sums[size_t(group * v.dim + c)] += sum_of_sizes(q, v.inner);
      q += v.inner;
    }
    if ((o + 1) % (v.outer / v.batch) != 0) continue;
    for (size_t c = 0; c < sums.size(); ++c) largest[c] = std::max(largest[c], sums[c]);
    sums.assign(sums.size(), 0);
  }
  return largest;
}

}  // namespace

ConstantFacts::ConstantFacts(const ModelIr& model) : left_(kFreeWork) {
  std::set<const uint8_t*> seen;
  for (const Graph& graph : model.graphs) {
    for (const Tensor& t : graph.tensors) {
      if (t.is_constant() && seen.insert(t.data.data()).second) left_ += kReadings * t.data.size();
    }
  }
}

Status ConstantFacts::spend(size_t work) {
  if (work > left_) return corrupt("too many tensors and nodes read the same constants");
  left_ -= work;
  return {};
}

Result<std::pair<int64_t, int64_t>> ConstantFacts::extremes(const Tensor& t) {
  const auto key = std::make_tuple(t.data.data(), t.data.size(), t.dtype);
  auto found = extremes_.find(key);
  if (found == extremes_.end()) {
    LQ_RETURN_IF_ERROR(spend(t.data.size()));
    found = extremes_.emplace(key, extremes_of(t)).first;
  }
  return found->second;
}

Result<const std::vector<int64_t>*> ConstantFacts::channel_sums(const Tensor& w, const WeightView& view) {
  const auto key = std::make_pair(w.data.data(), view);
  auto found = sums_.find(key);
  if (found == sums_.end()) {
    // The sums are as many as the channels, and are kept: 8 bytes each.
    LQ_RETURN_IF_ERROR(spend(w.data.size() + 16 * size_t(view.dim * view.groups)));
    found = sums_.emplace(key, sums_of(w.data.as<int8_t>(), view)).first;
  }
  return &found->second;
}

}  // namespace lq
