// One dense layer with explicit Quantize/Dequantize nodes, small enough to work out by hand, as the bytes of a .lqm file.
#pragma once
#include <string>
#include <vector>

#include "format/model_file.h"
#include "passes/runtime_graphs.h"

namespace lq::testing {

// x [N,4] -> Q/DQ (scale 1/2, zp 3) -> Gemm with w, b -> Q/DQ (scale 1, zp -5) -> y [N,2].
//   w = rows {1,2,3,4} and {-10,0,5,127}, scales 1/4 and 1/2; b = {8,-3}, scales 1/2 * those.
// x = {1, -0.5, 2, 0.26}: q - zp = x / 0.5 rounded = {2, -1, 4, 1} (0.52 -> 1).
//   acc = {2 - 2 + 12 + 4 + 8, -20 + 20 + 127 - 3} = {24, 124}; times s_x*s_w/s_y = {1/8, 1/4}: y = {3, 31}.
// x = {0, 0, 0, 0}: acc = b; {8/8, -3/4} = {1, -0.75}, rounded: y = {1, -1}.
inline constexpr float kTinyInput[2][4] = {{1.0f, -0.5f, 2.0f, 0.26f}, {0, 0, 0, 0}};
inline constexpr float kTinyOutput[2][2] = {{3, 31}, {1, -1}};

inline Result<Bytes> tiny_model() {
  GraphBuilder g;
  const TensorId x = g.input("x", {kUnknownDim, 4});
  const TensorId w = g.weights("w", {2, 4}, {1, 2, 3, 4, -10, 0, 5, 127}, {0.25f, 0.5f}, 0);
  const TensorId b = g.bias("b", {8, -3}, {0.125f, 0.25f});
  const TensorId dense = g.node(Op::Gemm, {g.through_int8(x, 0.5f, 3), w, b}, {kUnknownDim, 2});
  for (Node& node : g.graph().nodes) {
    if (node.op == Op::Gemm) mutable_attrs<schema::GemmAttrsT>(node).trans_b = true;
  }
  const TensorId y = g.through_int8(dense, 1.0f, -5);
  g.graph().tensor(y).name = "y";
  g.output(y);
  return serialize_model(g.model);
}

}  // namespace lq::testing
