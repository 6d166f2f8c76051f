# clang for plain rv64gc, with Debian's cross g++ for the C library and libstdc++ (g++ 12 has no vector intrinsics). The
# kernels of source/kernels/rvv are built for the V extension and chosen at run time.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_STRIP riscv64-linux-gnu-strip)  # llvm-strip refuses static programs linked by binutils
set(CMAKE_CXX_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_C_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/riscv64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)  # flatbuffers' headers are the host's: they are headers only
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64;-cpu;rv64,v=true,vlen=128,vext_spec=v1.0;-L;/usr/riscv64-linux-gnu)
