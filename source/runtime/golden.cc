#include "runtime/golden.h"

#include <cmath>

#include "format/checksum.h"

namespace lq {
namespace {

uint64_t splitmix64(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// `count` integers from `low` on.
struct Integers {
  int64_t low;
  uint64_t count;
};

/// Where calibration saw the tensor's values, whole numbers between them, else 0 … below − 1. A range is floats from a
/// file: beyond 2^24 it is not taken at its word.
Integers integers_of(const Tensor& tensor, uint64_t below) {
  constexpr float kExact = 1 << 24;
  if (!tensor.range || !(tensor.range->min >= -kExact) || !(tensor.range->max <= kExact)) return {0, below};
  const int64_t low = int64_t(std::ceil(tensor.range->min)), high = int64_t(std::floor(tensor.range->max));
  return low <= high ? Integers{low, uint64_t(high - low) + 1} : Integers{0, below};
}

template <typename T> void fill_integers(void* data, int64_t n, Integers from, uint64_t& state) {
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(data)[i] = T(from.low + int64_t(splitmix64(state) % from.count));
}

Status fill_input(const Tensor& tensor, void* data, uint64_t& state) {
  const int64_t n = element_count(tensor.shape);
  switch (tensor.dtype) {
    case DType::Float32: {
      const ValueRange range = tensor.range.value_or(ValueRange{0, 1});
      // 24 random bits make an exact float in [0, 1); two IEEE operations, the same everywhere.
      for (int64_t i = 0; i < n; ++i) {
        const float unit = float(splitmix64(state) >> 40) * 0x1p-24f;
        static_cast<float*>(data)[i] = unit * (range.max - range.min) + range.min;
      }
      return {};
    }
    case DType::Int64: fill_integers<int64_t>(data, n, integers_of(tensor, 10), state); return {};
    case DType::Int32: fill_integers<int32_t>(data, n, integers_of(tensor, 10), state); return {};
    case DType::Int8: fill_integers<int8_t>(data, n, integers_of(tensor, 10), state); return {};
    case DType::UInt8: fill_integers<uint8_t>(data, n, integers_of(tensor, 10), state); return {};
    case DType::Bool: fill_integers<uint8_t>(data, n, {0, 2}, state); return {};
    default: return unsupported("input '" + tensor.name + "': no generator for " + dtype_name(tensor.dtype));
  }
}

}  // namespace

Status fill_inputs_from_seed(Session& session, uint64_t seed) {
  uint64_t state = seed;
  for (size_t i = 0; i < session.input_count(); ++i) {
    LQ_RETURN_IF_ERROR(fill_input(session.input(i), session.input_data(i), state));
  }
  return {};
}

uint64_t hash_outputs(const Session& session) {
  uint64_t hash = 0;
  for (size_t i = 0; i < session.output_count(); ++i) {
    const Tensor& t = session.output(i);
    const uint8_t dtype = uint8_t(t.dtype);
    hash = checksum64(&dtype, 1, hash);
    hash = checksum64(t.shape.data(), t.shape.size() * sizeof(int64_t), hash);
    hash = checksum64(session.output_data(i), size_t(element_count(t.shape)) * dtype_size(t.dtype), hash);
  }
  return hash;
}

Result<schema::GoldenT> make_golden(Session& session, uint64_t seed) {
  LQ_RETURN_IF_ERROR(fill_inputs_from_seed(session, seed));
  LQ_RETURN_IF_ERROR(session.run());
  schema::GoldenT golden;
  golden.seed = seed;
  for (size_t i = 0; i < session.input_count(); ++i) {
    const Shape& shape = session.input(i).shape;
    golden.ranks.push_back(int(shape.size()));
    golden.shapes.insert(golden.shapes.end(), shape.begin(), shape.end());
  }
  golden.output_hash = hash_outputs(session);
  return golden;
}

Status check_golden(std::shared_ptr<const Model> model, SessionOptions options) {
  const std::optional<schema::GoldenT>& golden = model->ir().golden;
  if (!golden) return not_found("the model carries no golden self-test; `quantize` says why when it cannot make one");
  const Graph& graph = model->ir().main();
  if (golden->ranks.size() != graph.inputs.size()) return corrupt("the golden self-test does not match the model's inputs");
  options.input_shapes.clear();
  size_t at = 0;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const int rank = golden->ranks[i];
    if (rank < 0 || size_t(rank) > golden->shapes.size() - at) return corrupt("the golden self-test's shapes are damaged");
    options.input_shapes[graph.tensor(graph.inputs[i]).name] = Shape(golden->shapes.begin() + int64_t(at), golden->shapes.begin() + int64_t(at) + rank);
    at += size_t(rank);
  }
  LQ_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(model, options));
  LQ_RETURN_IF_ERROR(fill_inputs_from_seed(*session, golden->seed));
  LQ_RETURN_IF_ERROR(session->run());
  if (hash_outputs(*session) != golden->output_hash) {
    return internal_error("the golden self-test failed: this build computes other bits than the one that wrote the model");
  }
  return {};
}

}  // namespace lq
