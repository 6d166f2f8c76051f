#include "onnx/model_proto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <climits>
#include <cstring>

#include "onnx/import_rows.h"

namespace lq {
namespace {

/// What a file that is no ONNX model most likely is, by its first bytes.
const char* guess_format(const uint8_t* data, size_t size) {
  const std::pair<const char*, const char*> kMagics[] = {
      {"\x89PNG", "a PNG image"},
      {"\xff\xd8\xff", "a JPEG image"},
      {"PK\x03\x04", "a zip archive (a PyTorch file?)"},
      {"\x1f\x8b", "a gzip file"},
      {"GIF8", "a GIF image"},
      {"BM", "a BMP image"},
      {"\x93NUMPY", "a .npy file"},
      {"version https://git-lfs", "a git-lfs pointer; fetch the real file"},
      {"\x7f"
       "ELF",
       "a program"}};
  for (const auto& [magic, what] : kMagics) {
    if (size >= std::strlen(magic) && std::memcmp(data, magic, std::strlen(magic)) == 0) return what;
  }
  if (size >= 8 && std::memcmp(data + 4, "LQM1", 4) == 0) return "a .lqm model, quantized already";
  if (size >= 8 && std::memcmp(data + 4, "TFL3", 4) == 0) return "a TensorFlow Lite model";
  return nullptr;
}

}  // namespace

Status parse_model(const void* data, size_t size, onnx::ModelProto& model) {
  if (size == 0) return corrupt("the file is empty");
  if (const char* guess = guess_format(static_cast<const uint8_t*>(data), size)) {
    return corrupt(std::string("is not an ONNX model but ") + guess);
  }
  if (size > size_t(INT_MAX)) {
    return unsupported("is over 2 GB, more than protobuf reads; save the weights as external data");
  }
  google::protobuf::io::ArrayInputStream array(data, int(size));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(INT_MAX);
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return corrupt("is not a valid ONNX model: the protobuf does not parse (truncated, or another format)");
  }
  if (!model.has_graph() || model.opset_import_size() == 0) {
    return corrupt("is not an ONNX model: it has no graph or no opset");
  }
  return {};
}

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

Result<int> opset_of(const onnx::ModelProto& model) {
  int64_t opset = 0;
  for (const auto& entry : model.opset_import()) {
    if (is_default_domain(entry.domain())) opset = entry.version();
  }
  if (opset < 1) return unsupported("imports no opset of the default ONNX domain");
  if (opset > kLatestOpset) {
    return unsupported("opset " + std::to_string(opset) + " is newer than this importer (" +
                       std::to_string(kOldestOpset) + " to " + std::to_string(kLatestOpset) + "); export with opset " +
                       std::to_string(kLatestOpset) + " or older");
  }
  return int(opset);
}

std::string operator_name(const onnx::NodeProto& node) {
  return is_default_domain(node.domain()) ? node.op_type() : node.domain() + "." + node.op_type();
}

bool is_supported(const onnx::NodeProto& node, int opset) {
  return is_default_domain(node.domain()) && find_import_row(node.op_type(), opset) != nullptr;
}

}  // namespace lq
