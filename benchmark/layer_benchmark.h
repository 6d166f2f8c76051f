// Whole 3×3 layers for kernel_benchmark.
#pragma once

/// Adds the layers of layer_benchmark.cc to the benchmarks.
void register_layers();
