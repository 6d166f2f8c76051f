// LSTM and GRU: shapes as ONNX has them, batch first or sequence first, every output optional.
#include "graph/ops_common.h"

namespace lq {
namespace {

using schema::RnnAttrsT;

int64_t directions(const RnnAttrsT& a) { return a.direction == schema::RnnDirection::Bidirectional ? 2 : 1; }

Status check_rnn(const Node& node) {
  const auto& a = attrs_as<RnnAttrsT>(node);
  if (a.direction > schema::RnnDirection::MAX)
    return invalid_argument("unknown direction " + std::to_string(int(a.direction)));
  if (a.hidden_size < 0) return invalid_argument("hidden_size " + std::to_string(a.hidden_size) + " is negative");
  const size_t each = node.op == Op::LSTM ? 3 : 2;  // f, g, h of an LSTM; f, g of a GRU
  const size_t wanted = size_t(directions(a)) * each;
  if (!a.activations.empty() && a.activations.size() != wanted) {
    return invalid_argument("activations has " + std::to_string(a.activations.size()) + " entries, expected " +
                            std::to_string(wanted));
  }
  if (a.activation_alpha.size() > wanted || a.activation_beta.size() > wanted)
    return invalid_argument("too many activation parameters");
  if (!(a.clip >= 0)) return invalid_argument("clip is negative or not a number");
  return {};
}

/// Refuses input i unless it has this shape, as far as both are known.
Status expect_shape(const InferContext& c, size_t i, const Shape& wanted, const char* what) {
  if (!c.has_input(i) || !c.ranked(i)) return {};
  const Shape& s = c.shape(i);
  bool fits = s.size() == wanted.size();
  for (size_t k = 0; fits && k < s.size(); ++k) fits = s[k] < 0 || wanted[k] < 0 || s[k] == wanted[k];
  if (fits) return {};
  return invalid_argument(std::string(what) + " has shape " + shape_string(s) + ", expected " + shape_string(wanted));
}

struct RnnDims {
  int64_t sequence, batch, input, hidden, directions;
};

Result<RnnDims> rnn_dims(const InferContext& c, const RnnAttrsT& a, int64_t gates) {
  RnnDims d{kUnknownDim, kUnknownDim, kUnknownDim, a.hidden_size > 0 ? a.hidden_size : kUnknownDim, directions(a)};
  LQ_RETURN_IF_ERROR(expect_rank(c, 0, 3));
  LQ_RETURN_IF_ERROR(expect_rank(c, 1, 3));
  LQ_RETURN_IF_ERROR(expect_rank(c, 2, 3));
  if (c.ranked(0)) {
    d.sequence = c.shape(0)[a.batch_first ? 1 : 0];
    d.batch = c.shape(0)[a.batch_first ? 0 : 1];
    d.input = c.shape(0)[2];
  }
  if (c.ranked(2)) {
    LQ_RETURN_IF_ERROR(same_dim(d.hidden, c.shape(2)[2], "hidden_size and the recurrence weights"));
    if (d.hidden < 0) d.hidden = c.shape(2)[2];
  }
  LQ_ASSIGN_OR_RETURN(const int64_t rows, mul_dims(d.hidden, gates));
  LQ_RETURN_IF_ERROR(expect_shape(c, 1, {d.directions, rows, d.input}, "W"));
  LQ_RETURN_IF_ERROR(expect_shape(c, 2, {d.directions, rows, d.hidden}, "R"));
  LQ_ASSIGN_OR_RETURN(const int64_t biases, mul_dims(rows, 2));
  LQ_RETURN_IF_ERROR(expect_shape(c, 3, {d.directions, biases}, "B"));
  LQ_RETURN_IF_ERROR(expect_shape(c, 4, {d.batch}, "sequence_lens"));
  if (c.has_input(4)) LQ_RETURN_IF_ERROR(expect_dtype(c, 4, DType::Int32));
  return d;
}

Status infer_rnn(InferContext& c, int64_t gates) {
  const auto& a = attrs_as<RnnAttrsT>(c.node());
  LQ_RETURN_IF_ERROR(expect_float(c, 0));
  for (size_t i : {1, 2, 3, 5, 6, 7}) {
    if (c.has_input(i)) LQ_RETURN_IF_ERROR(same_dtype(c, 0, i));
  }
  LQ_ASSIGN_OR_RETURN(const RnnDims d, rnn_dims(c, a, gates));
  const Shape state = a.batch_first ? Shape{d.batch, d.directions, d.hidden} : Shape{d.directions, d.batch, d.hidden};
  LQ_RETURN_IF_ERROR(expect_shape(c, 5, state, "initial_h"));
  if (c.node().op == Op::LSTM) {
    LQ_RETURN_IF_ERROR(expect_shape(c, 6, state, "initial_c"));
    LQ_ASSIGN_OR_RETURN(const int64_t peepholes, mul_dims(d.hidden, 3));
    LQ_RETURN_IF_ERROR(expect_shape(c, 7, {d.directions, peepholes}, "P"));
  }
  const Shape y = a.batch_first ? Shape{d.batch, d.sequence, d.directions, d.hidden}
                                : Shape{d.sequence, d.directions, d.batch, d.hidden};
  if (c.node().output(0) != kNoTensor) c.set_output(0, c.dtype(0), y);
  for (size_t i = 1; i < c.node().outputs.size(); ++i) {
    if (c.node().output(i) != kNoTensor) c.set_output(i, c.dtype(0), state);
  }
  return {};
}

Status infer_lstm(InferContext& c) { return infer_rnn(c, 4); }
Status infer_gru(InferContext& c) { return infer_rnn(c, 3); }

constexpr OpDef kOps[] = {
    {Op::LSTM, 3, 8, 0, 3, 0, QuantRule::kFloatOnly, LayoutRule::kLinear, schema::Attrs::RnnAttrs, infer_lstm,
     check_rnn},
    {Op::GRU, 3, 6, 0, 2, 0, QuantRule::kFloatOnly, LayoutRule::kLinear, schema::Attrs::RnnAttrs, infer_gru, check_rnn},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> recurrent_ops() { return kBuiltOps; }

}  // namespace lq
