#include "conformance/pack_models.h"

namespace lq::conformance {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

// The preprocessing each model was made for (the pack's MANIFEST.md).
Options tensorflow(const char* crop, const char* resize) {
  Options o{{"mean", "127.5"}, {"std", "127.5"}};
  if (*crop) o.emplace_back("crop", crop);
  if (*resize) o.emplace_back("resize", resize);
  return o;
}
const Options kRaw{};
const Options kImagenetTorch{{"mean", "123.675,116.28,103.53"}, {"std", "58.395,57.12,57.375"}};
const Options kCifarTorch{{"mean", "125.307,122.961,113.8575"}, {"std", "62.985,62.0925,66.708"}};
const Options kSqueezenet{{"color", "bgr"}, {"mean", "104,117,123"}, {"crop", "227x227"}};
const Options kVww{{"std", "255"}, {"resize", "96x96"}};

}  // namespace

std::vector<ModelCase> model_cases() {
  const std::string imagenet = "pack/images/imagenet_calib", cifar = "pack/images/cifar10_calib", faces = "pack/images/faces";
  return {
      {"example_mnist", "example/mnist/mnist.onnx", "example/mnist/calib", kRaw, {}, true},
      {"example_resnet8", "example/mlperftiny/mlperftiny_resnet8_cifar10.onnx", "", {}, {}, true, {}, true},
      {"example_resnet8_for_avx2", "example/mlperftiny/mlperftiny_resnet8_cifar10.onnx", "", {}, {}, true, {}, true, true, true},
      {"example_vww_for_avx2", "example/mlperftiny/mlperftiny_vww_mobilenetv1_0.25_96.onnx", "", {}, {}, true, {}, true, true, true},
      {"example_vww", "example/mlperftiny/mlperftiny_vww_mobilenetv1_0.25_96.onnx", "", {}, {}, true, {}, true},
      {"mnist", "pack/models/mnist.onnx", "pack/images/mnist_calib", kRaw, {}, true},
      {"resnet8", "pack/models/mlperftiny_resnet8_cifar10.onnx", cifar, kRaw, {}, true},
      {"resnet_large", "pack/models/mlperftiny_resnet_large_cifar10.onnx", cifar, kRaw, {}, true},
      {"vww", "pack/models/mlperftiny_vww_mobilenetv1_0.25_96.onnx", imagenet, kVww, {}, true},
      {"resnet20", "pack/models/resnet20_cifar10_bn.onnx", cifar, kImagenetTorch, {}, true, {}, true},
      {"resnet56", "pack/models/resnet56_cifar10_bn.onnx", cifar, kImagenetTorch, {}, true},
      {"mbv2s", "pack/models/mbv2s_cifar10_bn.onnx", cifar, kCifarTorch, {}, true, {}, true},
      {"mobilenet_v1_025", "pack/models/mobilenet_v1_0.25_128_quant_dequant_fp32.onnx", imagenet, tensorflow("224x224", "128x128"), {}, true, {}, true},
      {"mobilenet_v1_05", "pack/models/mobilenet_v1_0.5_160_quant_dequant_fp32.onnx", imagenet, tensorflow("224x224", "160x160"), {}, true},
      {"mobilenet_v2", "pack/models/tf2_mobilenet_v2_1.0_224_ptq_dequant_fp32.onnx", imagenet, tensorflow("224x224", ""), {}, true},
      {"mobilenet_v2_offgrid", "pack/models/tf2_mobilenet_v2_1.0_224_offgrid_fp32.onnx", imagenet, tensorflow("224x224", ""), {}, true},
      {"mcunet", "pack/models/mcunet_imagenet_dequant_fp32.onnx", imagenet, tensorflow("224x224", "144x144"), {}, true, {}, true},
      {"squeezenet", "pack/models/squeezenet1.0_deepcomp_fp32.onnx", imagenet, kSqueezenet, {}, true},
      {"deeplab", "pack/models/deeplabv3_mnv2_dm05_pascal_dequant_fp32.onnx", "", {}, {}, false},
      {"yunet", "pack/models/yunet_n_320_320.onnx", faces, {{"color", "bgr"}, {"letterbox", ""}}, {}, false},
      {"ultraface", "pack/models/version-RFB-320.onnx", faces, {{"mean", "127"}, {"std", "128"}, {"resize", "320x240"}}, {}, false},
      {"fastestdet", "pack/models/FastestDet.onnx", "pack/images/coco_like", {{"color", "bgr"}, {"std", "255"}, {"resize", "352x352"}}, {}, false},
      {"ocr_detect", "pack/models/ch_PP-OCRv4_det_infer.onnx", "", {}, {{"x", {1, 3, 192, 384}}}, false},
      {"ocr_read", "pack/models/ch_PP-OCRv4_rec_infer.onnx", "", {}, {{"x", {1, 3, 48, 400}}}, false, {}, true},
      {"ocr_direction", "pack/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "", {}, {{"x", {1, 3, 48, 192}}}, true},
      {"ocr_direction_for_avx2", "pack/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "", {}, {{"x", {1, 3, 48, 192}}}, true, {}, false, true, true},
      {"superres", "pack/models/superres_subpixel_x3.onnx", "", {}, {{"input", {1, 1, 84, 84}}}, false, {}, true},
      {"ddpm", "pack/models/ddpm_mnist_eps.onnx", "", {}, {}, false},
      {"silero", "pack/models/silero_vad_v5.onnx", "", {}, {{"input", {1, 576}}, {"state", {2, 1, 128}}}, false, {{"sr", "16000"}}},
      {"silero_if", "pack/models/silero_vad_v5.onnx", "", {}, {{"input", {1, 576}}, {"state", {2, 1, 128}}}, false, {}, false, false},
      {"stories", "pack/models/stories260K.onnx", "", {}, {{"input_ids", {1, 16}}}, false},
  };
}

}  // namespace lq::conformance
