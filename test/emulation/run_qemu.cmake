# What the library does on processor CPU, emulated by qemu-user: which kernels it takes by itself, whether all it has there
# compute the validated bits, how it refuses those the processor lacks, and the kernels' own tests.
# Variables: CPU, HAS (its instruction sets, the best one last), LACKS (one it has not), CONFORM, BENCHMARK, MODELS (a folder),
# TESTS and FILTER (the kernel tests).
find_program(QEMU qemu-x86_64)
if(NOT QEMU)
  message(STATUS "no qemu-x86_64 (package qemu-user): ${CPU} skipped")
  return()
endif()
file(GLOB models "${MODELS}/mnist.lqm" "${MODELS}/mobilenet.lqm" "${MODELS}/resnet8.lqm")
if(NOT models)
  message(FATAL_ERROR "no model in ${MODELS}")
endif()
list(GET models 0 model)
list(GET HAS -1 best)

function(run result_wanted)  # run(RESULT COMMAND…): sets `out`, its output and errors
  execute_process(COMMAND "${QEMU}" -cpu ${CPU} ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT result STREQUAL result_wanted)
    message(FATAL_ERROR "on ${CPU}: ${ARGN}: exit code ${result}, not ${result_wanted}\n${text}")
  endif()
  set(out "${text}" PARENT_SCOPE)
endfunction()
function(expect pattern)
  if(NOT out MATCHES "${pattern}")
    message(FATAL_ERROR "on ${CPU}: no '${pattern}' in\n${out}")
  endif()
endfunction()

run(0 "${CONFORM}" ${models})
message("${CPU}\n${out}")
string(REGEX MATCHALL "isa [a-z0-9_]+: [1-9]" lines "${out}")
string(REGEX REPLACE "isa ([a-z0-9_]+): [1-9]" "\\1" found "${lines}")
if(NOT found STREQUAL HAS)
  message(FATAL_ERROR "on ${CPU} ran: ${found}; expected: ${HAS}")
endif()

run(0 "${BENCHMARK}" --iterations 1 --warmup 0 --profile "${model}")
expect("isa ${best} threads 1")
expect("Conv  [^\n]*__${best} ")

list(JOIN HAS ", " usable)
set(refused "ISA '${LACKS}' is not supported by this processor; use one of: ${usable}")
run(2 "${CONFORM}" --isa ${LACKS} "${model}")
expect("${refused}")
set(ENV{LIBQUANT_ISA} ${LACKS})
run(1 "${BENCHMARK}" "${model}")
expect("environment variable LIBQUANT_ISA: ${refused}")
unset(ENV{LIBQUANT_ISA})

run(0 "${TESTS}" --gtest_brief=1 "--gtest_filter=${FILTER}")
expect("PASSED  . [1-9]")
