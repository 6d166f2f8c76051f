# lq_library(name [SHIPS] [COLD] DEPENDS targets…): one floor of the house, a static library of every .cc in the current folder
# (and SOURCES_FROM sub-folders). SHIPS: goes to a device, so it is built without exceptions and RTTI, in sections the linker may drop.
# COLD: runs once a model or session, so a release is optimised for size: half the bytes of -O3.
find_package(Threads REQUIRED)

set(LQ_SHIPS_FLAGS -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections)
if(NOT LIBQUANT_UNWIND_TABLES)
  # A tenth of the library, for exceptions that nothing here throws or catches, and for debuggers.
  list(APPEND LQ_SHIPS_FLAGS "$<$<CONFIG:Release>:-fno-asynchronous-unwind-tables;-fno-unwind-tables>")
endif()
set(LQ_COLD_FLAGS "$<$<CONFIG:Release>:-Os>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND LQ_SHIPS_FLAGS -fno-gnu-unique)  # unique symbols cannot be made local (localise_archive.cmake) and forbid dlclose
endif()

function(lq_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-restrict)  # g++ 12 warns falsely on "x" + std::to_string(n)
  endif()
  if(LIBQUANT_SANITIZE)
    # vptr needs RTTI, which what ships has not.
    target_compile_options(${target} PRIVATE -fsanitize=${LIBQUANT_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${LIBQUANT_SANITIZE})
  endif()
endfunction()

function(lq_library name)
  cmake_parse_arguments(ARG "SHIPS;COLD" "" "DEPENDS;SOURCES_FROM" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  foreach(folder IN LISTS ARG_SOURCES_FROM)
    file(GLOB more CONFIGURE_DEPENDS ${folder}/*.cc)
    list(APPEND sources ${more})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/source" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  lq_options(${name})
  if(ARG_SHIPS)
    target_compile_options(${name} PRIVATE ${LQ_SHIPS_FLAGS})
  endif()
  if(ARG_COLD)
    target_compile_options(${name} PRIVATE ${LQ_COLD_FLAGS})
  endif()
endfunction()

# lq_test(name [LABEL label] DEPENDS targets…): a GoogleTest program of every .cc in the current folder.
# Labels: unit (default), fuzz, model (the pack's or the repository's models), golden (test/golden), package, emulation (other
# x86 processors), slow (run_full.sh only).
# The target unit_tests is what runs under sanitizers too: labels unit and fuzz.
add_custom_target(unit_tests)
function(lq_test name)
  cmake_parse_arguments(ARG "" "LABEL" "DEPENDS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/test" "${PROJECT_SOURCE_DIR}/source")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    LQ_SOURCE_DIR="${PROJECT_SOURCE_DIR}" LQ_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
  lq_options(${name})
  target_compile_options(${name} PRIVATE -O1)  # most of a test's build time is the optimiser's: -O3 costs half as much again
  if(ARG_LABEL MATCHES "^(unit|fuzz)$")
    add_dependencies(unit_tests ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 900)
endfunction()
