# Which kernel folders are built for the target processor, and the flags of each.
set(LQ_KERNEL_FLAGS -O3 -ffp-contract=off -fno-exceptions -fno-rtti)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND LQ_KERNEL_FLAGS -fno-tree-reassoc)  # g++ re-associates unrolled integer adds and spills
endif()
set(LQ_ISA_FOLDERS scalar)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(LQ_AVX512_WARNINGS -Wno-maybe-uninitialized -Wno-uninitialized)  # g++ 12's own header, _mm512_undefined_epi32
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(APPEND LQ_ISA_FOLDERS avx2 avxvnni avx512vnni)
  set(LQ_ISA_FLAGS_avx2 -mavx2 -mfma)
  set(LQ_ISA_FLAGS_avxvnni -mavx2 -mfma -mavxvnni)
  set(LQ_ISA_FLAGS_avx512vnni -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni ${LQ_AVX512_WARNINGS})
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  list(APPEND LQ_ISA_FOLDERS neon neon_dotprod neon_i8mm)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND LQ_KERNEL_FLAGS -fno-schedule-insns)  # g++ hoists a tile's loads and spills its accumulators
  endif()
  set(LQ_ISA_FLAGS_neon -march=armv8-a)
  set(LQ_ISA_FLAGS_neon_dotprod -march=armv8.2-a+dotprod)
  set(LQ_ISA_FLAGS_neon_i8mm -march=armv8.2-a+dotprod+i8mm)
endif()
