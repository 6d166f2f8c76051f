// examples/mnist as `quantize` writes it: a real file of the main job.
#include "fuzz/models.h"

#ifdef LQ_FUZZ_MNIST
#include "libquant/quantizer.hpp"
#include "onnx/importer.h"
#endif

namespace lq::fuzz {

#ifdef LQ_FUZZ_MNIST
Status add_mnist(std::vector<ModelIr>& models) {
  const std::string folder = LQ_SOURCE_DIR "/examples/mnist";
  LQ_ASSIGN_OR_RETURN(ModelIr model, import_onnx(folder + "/mnist.onnx"));
  schema::InputInfoT input;
  input.name = model.main().tensor(model.main().inputs[0]).name;
  input.preprocessing = std::make_unique<schema::PreprocessingT>();
  input.preprocessing->color = schema::Color::Gray;
  input.preprocessing->mean = {0};
  input.preprocessing->std = {1};
  model.inputs.push_back(std::move(input));
  QuantizeOptions options;
  options.calibration_dir = folder + "/calib";
  options.max_samples = 8;
  LQ_ASSIGN_OR_RETURN(QuantizeReport report, quantize(model, options));
  LQ_RETURN_IF_ERROR(add_golden(model, options, report));
  models.push_back(std::move(model));
  return {};
}
#else
Status add_mnist(std::vector<ModelIr>&) { return {}; }
#endif

}  // namespace lq::fuzz
