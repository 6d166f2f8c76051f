# Quantizes a few small models of different kinds into OUTPUT_DIR (golden_models in CMakeLists.txt).
file(REMOVE_RECURSE "${OUTPUT_DIR}")
file(MAKE_DIRECTORY "${OUTPUT_DIR}")
function(quantize name model calib)
  execute_process(COMMAND "${QUANTIZE}" --quiet --calib "${calib}" --max-samples 16 ${ARGN} -o "${OUTPUT_DIR}/${name}.lqm" "${model}"
    RESULT_VARIABLE result ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${name}: quantize ended with ${result}: ${error}")
  endif()
endfunction()
quantize(mnist "${SOURCE_DIR}/examples/mnist/mnist.onnx" "${SOURCE_DIR}/examples/mnist/calib" --preprocess raw)
set(pack "${SOURCE_DIR}/../shared/pack")
if(NOT EXISTS "${pack}/models")
  message(STATUS "${pack} is absent: 4 models skipped")
  return()
endif()
set(imagenet --mean 127.5 --std 127.5 --crop 224x224)
# Depthwise layers, residual sums, detection heads with upsampling, and a transformer with float layers between int8 ones.
quantize(mobilenet "${pack}/models/mobilenet_v1_0.25_128_quant_dequant_fp32.onnx" "${pack}/images/imagenet_calib" ${imagenet} --resize 128x128)
quantize(resnet8 "${pack}/models/mlperftiny_resnet8_cifar10.onnx" "${pack}/images/cifar10_calib" --preprocess raw)
quantize(yunet "${pack}/models/yunet_n_320_320.onnx" "${pack}/images/faces" --color bgr --letterbox)
quantize(ocr_read "${pack}/models/ch_PP-OCRv4_rec_infer.onnx" "${pack}/images/ocr" --color bgr --mean 127.5 --std 127.5 --resize 160x48
  --input-shape x:1,3,48,160)
