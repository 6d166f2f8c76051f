// The table of operators, joined from the families, and what their shape functions share.
#include "graph/op_def.h"

#include "graph/built_ops.h"
#include "graph/ops_common.h"

namespace lq {

namespace {

/// A family's table; empty in a build without any of its operators, which then lacks their shape functions too.
template <Op... kOps>
std::span<const OpDef> any_of(std::span<const OpDef> (*table)()) {
  if constexpr (any_op_built<kOps...>()) return table();
  return {};
}

}  // namespace

const OpDef* find_op(Op op) {
  if (!is_op_built(op)) return nullptr;
  const std::span<const OpDef> families[] = {
      product_ops(), unary_ops(), binary_ops(), quant_ops(), pool_ops(), move_ops(), shape_ops(),
      any_of<Op::Split, Op::Slice, Op::Gather, Op::Pad>(index_ops),
      any_of<Op::BatchNormalization, Op::InstanceNormalization, Op::LayerNormalization, Op::Softmax, Op::LogSoftmax>(
          norm_ops),
      any_of<Op::ReduceMean, Op::ReduceSum, Op::ReduceMax, Op::ReduceMin, Op::ReduceL2, Op::ReduceProd, Op::ArgMax,
             Op::ArgMin, Op::TopK>(reduce_ops),
      any_of<Op::Resize>(resize_ops), any_of<Op::Einsum>(einsum_ops), any_of<Op::LSTM, Op::GRU>(recurrent_ops),
      any_of<Op::If, Op::Custom>(control_ops)};
  for (const auto& family : families) {
    for (const OpDef& def : family) {
      if (def.op == op) return &def;
    }
  }
  return nullptr;
}

namespace {

Status check_arity(const char* what, const std::vector<TensorId>& ids, size_t min, size_t max) {
  if (ids.size() < min || (max != 255 && ids.size() > max)) {
    return invalid_argument("has " + std::to_string(ids.size()) + " " + what + ", expected " + std::to_string(min) +
                            (max == min   ? std::string()
                             : max == 255 ? " or more"
                                          : " to " + std::to_string(max)));
  }
  for (size_t i = 0; i < min; ++i) {
    if (ids[i] == kNoTensor)
      return invalid_argument("one of its required " + std::string(what) + " (" + std::to_string(i) + ") is missing");
  }
  return {};
}

}  // namespace

Status check_node(const Node& node, const OpDef& def) {
  LQ_RETURN_IF_ERROR(check_arity("inputs", node.inputs, def.min_inputs, def.max_inputs));
  LQ_RETURN_IF_ERROR(check_arity("outputs", node.outputs, def.min_outputs, def.max_outputs));
  bool any_output = false;
  for (TensorId id : node.outputs) any_output |= id != kNoTensor;
  if (!any_output) return invalid_argument("has no output");
  // No table at all stands for the defaults.
  if (node.attrs.type != schema::Attrs::NONE && node.attrs.type != def.attrs) {
    return invalid_argument(std::string("has attributes of kind ") + schema::EnumNameAttrs(node.attrs.type) +
                            ", expected " + schema::EnumNameAttrs(def.attrs));
  }
  if (!node.subgraphs.empty() && node.op != Op::If)
    return invalid_argument("has branch graphs, which only If may have");
  return def.check_attrs ? def.check_attrs(node) : Status();
}

Status check_shape(const Shape& shape) {
  constexpr size_t kMaxRank = 8;
  constexpr int64_t kMaxElements = int64_t(1) << (sizeof(size_t) >= 8 ? 40 : 28);  // bytes must fit a size_t
  if (shape.size() > kMaxRank) return invalid_argument("rank " + std::to_string(shape.size()) + " is above 8");
  for (int64_t d : shape) {
    if (d < kUnknownDim || d > InferContext::kMaxDim)
      return invalid_argument("dimension " + std::to_string(d) + " is out of range");
  }
  if (!is_static(shape)) return {};
  const int64_t count = element_count(shape);
  if (count < 0 || count > kMaxElements) return invalid_argument("shape " + shape_string(shape) + " is too large");
  return {};
}

void InferContext::set_output(size_t i, DType dtype, Shape shape) {
  if (outputs.size() <= i) outputs.resize(i + 1);
  outputs[i] = {true, true, dtype, std::move(shape)};
}

void InferContext::set_unranked(size_t i, DType dtype) {
  if (outputs.size() <= i) outputs.resize(i + 1);
  outputs[i] = {true, false, dtype, {}};
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const size_t rank = a.size() > b.size() ? a.size() : b.size();
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t da = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t db = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (da == 1) {
      out[i] = db;
    } else if (db == 1 || da == db) {
      out[i] = da;
    } else if (da < 0 || db < 0) {  // an unknown dim beside a known n > 1 (or 0) must be 1 or n: n either way
      out[i] = da < 0 ? db : da;
    } else {
      return invalid_argument("shapes " + shape_string(a) + " and " + shape_string(b) + " do not broadcast");
    }
  }
  return out;
}

Result<int> normalize_axis(int64_t axis, size_t rank) {
  const int64_t n = int64_t(rank);
  if (axis < -n || axis >= n) {
    return invalid_argument("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  }
  return int(axis < 0 ? axis + n : axis);
}

Status infer_same(InferContext& c) {
  if (c.ranked(0)) {
    c.set_output(0, c.dtype(0), c.shape(0));
  } else {
    c.set_unranked(0, c.dtype(0));
  }
  return {};
}

namespace {
bool is_quantized(const InferContext& c, size_t i) { return c.graph().tensor(c.node().inputs[i]).quant.has_value(); }
}  // namespace

Status same_dtype(const InferContext& c, size_t i, size_t j) {
  const DType a = c.dtype(i), b = c.dtype(j);
  if (a == b || a == DType::Undefined || b == DType::Undefined || is_quantized(c, i) || is_quantized(c, j)) return {};
  return invalid_argument("inputs " + std::to_string(i) + " and " + std::to_string(j) + " have types " + dtype_name(a) +
                          " and " + dtype_name(b) + ", expected one type");
}

Status expect_dtype(const InferContext& c, size_t i, DType dtype) {
  if (c.dtype(i) == dtype || c.dtype(i) == DType::Undefined) return {};
  return invalid_argument("input " + std::to_string(i) + " has type " + dtype_name(c.dtype(i)) + ", expected " +
                          dtype_name(dtype));
}

Status expect_rank(const InferContext& c, size_t i, size_t rank) {
  if (!c.ranked(i) || c.shape(i).size() == rank) return {};
  return invalid_argument("input " + std::to_string(i) + " has shape " + shape_string(c.shape(i)) + ", expected rank " +
                          std::to_string(rank));
}

Status expect_float(const InferContext& c, size_t i) {
  switch (c.dtype(i)) {
    case DType::Undefined:
    case DType::Float32:
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float64:
      return {};
    default:
      break;
  }
  if (is_quantized(c, i)) return {};
  return invalid_argument("input " + std::to_string(i) + " has type " + dtype_name(c.dtype(i)) +
                          ", expected a floating-point type");
}

bool is_index_dtype(DType dtype) { return dtype == DType::Int64 || dtype == DType::Int32 || dtype == DType::Undefined; }

Status expect_single(const InferContext& c, size_t i) {
  if (!c.ranked(i)) return {};
  const int64_t n = element_count(c.shape(i));
  if (n == 1 || !is_static(c.shape(i))) return {};
  return invalid_argument("input " + std::to_string(i) + " has shape " + shape_string(c.shape(i)) +
                          ", expected a scalar");
}

DType result_dtype(const InferContext& c, size_t i) { return is_quantized(c, i) ? DType::Float32 : c.dtype(i); }

Status same_dim(int64_t a, int64_t b, const char* what) {
  if (a < 0 || b < 0 || a == b) return {};
  return invalid_argument(std::string(what) + ": " + std::to_string(a) + " and " + std::to_string(b) + " differ");
}

Result<int64_t> mul_dims(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return kUnknownDim;
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r) || r > InferContext::kMaxDim)
    return invalid_argument("a dimension would exceed 2^31");
  return r;
}

Result<int64_t> add_dims(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return kUnknownDim;
  int64_t r;
  if (__builtin_add_overflow(a, b, &r) || r > InferContext::kMaxDim)
    return invalid_argument("a dimension would exceed 2^31");
  return r;
}

}  // namespace lq
