# LIBQUANT_OPS_FROM one model: the library is smaller, holds no kernel that model does not need, runs it and refuses others by the name of what
# they need. lq-inspect says what that is.
# The build stands beside the main one, so with CCACHE_BASEDIR all but a handful of objects are cache hits.
set(work "${MAIN_BUILD_DIR}/test/package/selective")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")
function(run variable)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${work}" RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}\n${out}${err}")
  endif()
  set(${variable} "${out}" PARENT_SCOPE)
endfunction()
set(images "${SOURCE_DIR}/examples/mnist/calib")  # any images do: bits are tested here, not accuracy
run(ignored "${TOOLS_DIR}/quantize" --quiet --calib "${images}" --max-samples 4 --resize 96x96 --std 255
  -o mobilenet.lqm "${SOURCE_DIR}/examples/mlperftiny/mlperftiny_vww_mobilenetv1_0.25_96.onnx")
run(ignored "${TOOLS_DIR}/quantize" --quiet --calib "${images}" --max-samples 4 --preprocess raw -o mnist.lqm "${SOURCE_DIR}/examples/mnist/mnist.onnx")
run(ignored "${TOOLS_DIR}/quantize" --quiet --float --preprocess raw -o float.lqm "${SOURCE_DIR}/examples/mlperftiny/mlperftiny_vww_mobilenetv1_0.25_96.onnx")
run(ops "${TOOLS_DIR}/lq-inspect" --ops mobilenet.lqm)
string(STRIP "${ops}" ops)
# What the net is: int8 convolutions, one of them 3 x 3 with stride 2, and depthwise ones; activations go into them.
if(NOT ops MATCHES "(^|,)Conv:int8\\+depthwise_int8(,|$)" OR ops MATCHES "MaxPool")
  message(FATAL_ERROR "lq-inspect --ops: ${ops}")
endif()
run(ignored "${CMAKE_COMMAND}" -S "${SOURCE_DIR}" -B "${BUILD_DIR}" -G "${GENERATOR}" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON
  -DLIBQUANT_BUILD_TOOLCHAIN=OFF -DLIBQUANT_BUILD_TESTS=OFF -DLIBQUANT_OPS= "-DLIBQUANT_OPS_FROM=${work}/mobilenet.lqm"
  "-DLIBQUANT_INSPECT=${TOOLS_DIR}/lq-inspect" "-DCMAKE_C_COMPILER=${CC}" "-DCMAKE_CXX_COMPILER=${CXX}"
  "-DCMAKE_C_COMPILER_LAUNCHER=${CC_LAUNCHER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${CXX_LAUNCHER}")
run(ignored "${CMAKE_COMMAND}" --build "${BUILD_DIR}" --parallel --target quant lq-conform)

# It runs the model on every instruction set this processor has, with the bits the file holds.
set(conform "${BUILD_DIR}/tools/device/lq-conform")
run(passed "${conform}" mobilenet.lqm)
if(NOT passed MATCHES "isa scalar: 1 passed, 0 failed" OR passed MATCHES "[1-9] failed")
  message(FATAL_ERROR "the model does not run: ${passed}")
endif()

# refused(MODEL PATTERN): another model ends with one line that names what is missing.
function(refused model pattern)
  execute_process(COMMAND "${conform}" --isa scalar ${model} WORKING_DIRECTORY "${work}" RESULT_VARIABLE result OUTPUT_VARIABLE out)
  if(NOT result EQUAL 1 OR NOT out MATCHES "${pattern}, which this build of libquant leaves out; build it with ([A-Za-z0-9:_+]+) in LIBQUANT_OPS")
    message(FATAL_ERROR "${model}, which needs another build, ended with ${result}: ${out}")
  endif()
  message(STATUS "${model}: asks for ${CMAKE_MATCH_1}")
endfunction()
refused(mnist.lqm "is a MaxPool")          # an operator this build has not
refused(float.lqm "needs Conv:float")      # a form it has not: the same net before it was quantized

# Kernels it does not need are gone, those it needs are there.
run(symbols "${NM}" -C "${BUILD_DIR}/source/capi/libquant.so")
foreach(name conv_f32 depthwise_f32 winograd mul_s8 prelu_s8 table_u8 max_pool resize_s8 run_rnn run_einsum)
  if(symbols MATCHES "lq::[^\n]*${name}")
    message(FATAL_ERROR "the library for ${ops} holds ${CMAKE_MATCH_0}")
  endif()
endforeach()
foreach(name scalar::conv_s8 scalar::depthwise_s8 scalar::average_pool_s8)
  if(NOT symbols MATCHES "lq::${name}")
    message(FATAL_ERROR "the library for ${ops} lacks ${name}")
  endif()
endforeach()
# Names are checked when configuring.
execute_process(COMMAND "${CMAKE_COMMAND}" "-DLIBQUANT_OPS=Conv,Convolution" "${BUILD_DIR}" RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE err)
if(result EQUAL 0 OR NOT err MATCHES "no operator 'Convolution'")
  message(FATAL_ERROR "LIBQUANT_OPS=Conv,Convolution ended with ${result}: ${err}")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" "-DLIBQUANT_OPS=Conv:int7" "${BUILD_DIR}" RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE err)
if(result EQUAL 0 OR NOT err MATCHES "unknown form 'int7'")
  message(FATAL_ERROR "LIBQUANT_OPS=Conv:int7 ended with ${result}: ${err}")
endif()
run(ignored "${STRIP}" -o selective.so "${BUILD_DIR}/source/capi/libquant.so")
run(ignored "${STRIP}" -o full.so "${FULL}")
file(SIZE "${work}/selective.so" selective)
file(SIZE "${work}/full.so" full)
message(STATUS "libquant.so for ${ops}: ${selective} bytes stripped, with every operator ${full}")
math(EXPR limit "${full} * 3 / 5")
if(selective GREATER limit)
  message(FATAL_ERROR "the selective build is hardly smaller")
endif()
file(REMOVE_RECURSE "${work}")
