// ONNX Runtime as a peer: a model and raw tensors go to ort_run.js in Node, raw tensors come back.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lq::peer {

/// Why ONNX Runtime cannot be asked here; "" if it can. It lies in $LIBQUANT_ONNXRUNTIME_NODE, by default in
/// ~/.cache/libquant/onnxruntime-node-VERSION, where tools/install_dependencies.sh tests puts it.
std::string why_absent();

/// A tensor of all samples, one after the other; data is little-endian.
struct Stream {
  std::string name;
  DType dtype = DType::Float32;
  Shape shape;  // of one sample
  std::string data;
};

/// Runs the model on each sample; fills the data of `outputs` (names, dtypes and shapes as asked for). `folder` holds
/// the files. literal: without any graph optimisation, so in float operators between DequantizeLinear and
/// QuantizeLinear.
Status run_onnx_runtime(const std::string& model, const std::vector<Stream>& inputs, size_t samples,
                        const std::filesystem::path& folder, std::vector<Stream>& outputs, bool literal = false);

}  // namespace lq::peer
