// One file -> one input tensor.
#include "calibration/input_file.h"

#include <algorithm>
#include <cctype>

#include "base/file.h"
#include "calibration/data_source.h"
#include "calibration/npy.h"
#include "calibration/preprocess.h"
#include "calibration/zip.h"
#include "onnx/tensor_proto.h"

namespace lq::calibration {
namespace {

Result<HostTensor> load_image(const std::string& path, const InputSpec& spec) {
  if (!spec.preprocessing)
    return invalid_argument(path + ": image for input '" + spec.name + "' of shape " + shape_string(spec.shape) +
                            ", which takes none (rank 4 with 1 or 3 channels); give .npy");
  LQ_ASSIGN_OR_RETURN(const Image image, read_image(path, !spec.preprocessing->ignore_exif));
  const DType dtype = spec.dtype == DType::UInt8 ? DType::UInt8 : DType::Float32;
  auto tensor = preprocess_image(image, *spec.preprocessing, spec.name, spec.shape, dtype);
  if (!tensor.ok()) return tensor.status().with_context(path);
  return tensor;
}

Result<HostTensor> load_npz(const std::string& path, const InputSpec& spec, bool only_input) {
  LQ_ASSIGN_OR_RETURN(const Bytes bytes, map_file(path));
  auto entries = list_zip(bytes.data(), bytes.size());
  if (!entries.ok()) return entries.status().with_context(path);
  const ZipEntry* found = only_input && entries->size() == 1 ? &entries->front() : nullptr;
  for (const ZipEntry& entry : *entries) {
    if (entry.name == spec.name + ".npy" || entry.name == folder_name_of_input(spec.name) + ".npy") found = &entry;
  }
  if (found == nullptr) return not_found(path + ": no array named '" + spec.name + "' for the model's input");
  auto data = read_zip_entry(bytes.data(), bytes.size(), *found);
  if (!data.ok()) return data.status().with_context(path);
  auto tensor = decode_npy(data->data(), data->size());
  if (!tensor.ok()) return tensor.status().with_context(path);
  return tensor;
}

Result<HostTensor> load_pb(const std::string& path) {
  auto tensor = read_tensor_pb(path);
  if (!tensor.ok()) {
    const bool named = tensor.status().message().starts_with(path);
    return named ? tensor.status() : tensor.status().with_context(path);
  }
  HostTensor out{tensor->dtype, tensor->shape, {}};
  out.data.assign(tensor->data.data(), tensor->data.data() + tensor->data.size());
  return out;
}

}  // namespace

std::string extension_of(const std::string& name) {
  const size_t dot = name.rfind('.'), slash = name.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return "";
  std::string extension = name.substr(dot);
  for (char& c : extension) c = char(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

std::string folder_name_of_input(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '\\' || c == ':') c = '_';
  }
  return name;
}

bool is_sample_name(const std::string& name) {
  const std::string extension = extension_of(name);
  return is_image_name(name) || extension == ".npy" || extension == ".npz" || extension == ".pb";
}

Result<HostTensor> fit_to_input(HostTensor tensor, const InputSpec& spec) {
  if (tensor.shape.size() + 1 == spec.shape.size() && (spec.shape[0] == 1 || spec.shape[0] == kUnknownDim))
    tensor.shape.insert(tensor.shape.begin(), 1);
  bool fits = tensor.shape.size() == spec.shape.size();
  for (size_t a = 0; fits && a < spec.shape.size(); ++a)
    fits = spec.shape[a] == kUnknownDim || spec.shape[a] == tensor.shape[a];
  if (!fits)
    return invalid_argument("shape " + shape_string(tensor.shape) + " does not fit input '" + spec.name +
                            "' of shape " + shape_string(spec.shape));
  if (element_count(tensor.shape) == 0) return invalid_argument("the array is empty");
  return convert_tensor(std::move(tensor), spec.dtype);
}

Result<HostTensor> load_input_file(const std::string& path, const InputSpec& spec, bool only_input) {
  const std::string extension = extension_of(path);
  if (is_image_name(path)) {  // has the right shape already
    LQ_ASSIGN_OR_RETURN(HostTensor tensor, load_image(path, spec));
    auto converted = convert_tensor(std::move(tensor), spec.dtype);
    return converted.ok() ? std::move(converted) : Result<HostTensor>(converted.status().with_context(path));
  }
  Result<HostTensor> tensor = extension == ".npy"   ? read_npy(path)
                              : extension == ".npz" ? load_npz(path, spec, only_input)
                              : extension == ".pb"
                                  ? load_pb(path)
                                  : Result<HostTensor>(unsupported(path + ": not an image, .npy, .npz or .pb file"));
  if (!tensor.ok()) return tensor;
  auto fitted = fit_to_input(std::move(*tensor), spec);
  if (!fitted.ok()) return fitted.status().with_context(path);
  return fitted;
}

}  // namespace lq::calibration
