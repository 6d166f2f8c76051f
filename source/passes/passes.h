// Graph-to-graph passes: each a pure function of the model with its own test. A pass never changes what the model means
// (docs/NUMERICS.md) unless its comment says so.
#pragma once
#include <set>
#include <string>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace lq::passes {

// --- toolchain (float model; results may differ from the input by float rounding only)
/// Drops Identity; Dropout never gets past the importer.
Status remove_identity(ModelIr& model);
/// BatchNormalization (or a per-channel constant Mul/Add pair) after Conv, ConvTranspose, Gemm, MatMul-by-constant into its
/// weights and bias, in double, when the convolution's output has no other reader. Survives tiny variances.
Status fold_batch_norm(ModelIr& model);
/// MatMul by a constant 2-D matrix followed by a constant Add -> Gemm with bias where shapes allow.
Status fuse_bias(ModelIr& model);
/// x·Sigmoid(x) -> Silu; x·Clip(x+3,0,6)/6 and x·HardSigmoid(x,1/6,0.5) -> HardSwish; Clip(x+3,0,6)/6 -> HardSigmoid;
/// x·0.5·(1+Erf(x/√2)) -> Gelu; ReduceMean/Sub/Pow/… -> LayerNormalization.
Status fuse_float_patterns(ModelIr& model);
/// Pad (constant 0) before Conv, AveragePool(count_include_pad) or, when all its inputs are >= the pad value, MaxPool: into its pads.
Status fuse_pad(ModelIr& model);
/// All of the above in order, then shape inference for the tensors they made.
Status run_float_pipeline(ModelIr& model);

// --- runtime (shapes resolved; bits unchanged)
/// Dequantize…→op→[Relu|Clip]→Quantize, by the rules of docs/NUMERICS.md, becomes op on quantized tensors with qmin/qmax
/// narrowed; Dequantize→Quantize becomes Requantize; a product with float output keeps int8 inputs.
Status fuse_qdq(ModelIr& model);
/// Float Conv/Gemm/MatMul/Add + Relu|Clip -> fused_clamp.
Status fuse_activation(ModelIr& model);
/// Reshape, Transpose, Reshape that reorder the channels in groups, or take every g-th -> Gather of channels.
Status fuse_channel_shuffle(ModelIr& model);
/// Decides linear or NCHWc8 for each tensor by the operators' LayoutRule and inserts LayoutToBlocked / LayoutToLinear.
Status assign_layout(ModelIr& model);

}  // namespace lq::passes
