// Runs a model once and prints the largest value of its first output.
// Usage: run_model MODEL.lqm [INPUT.bin]   (the raw bytes of the first input, linear order; zeros without it)
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <libquant/libquant.hpp>

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: run_model MODEL.lqm [INPUT.bin]\n");
    return 2;
  }
  libquant::Model model(argv[1]);
  libquant::Session session(model, /*threads=*/1);
  if (!session.ok()) {  // also when the model is not
    std::fprintf(stderr, "run_model: %s\n", lq_last_error());
    return 1;
  }
  const lq_tensor_info input = session.input_info(0), output = session.output_info(0);
  if (output.dtype != LQ_FLOAT32 || output.size_bytes == 0) {
    std::fprintf(stderr, "run_model: output '%s' is not float32\n", output.name);
    return 1;
  }
  if (argc == 3) {
    std::ifstream file(argv[2], std::ios::binary);
    if (!file.read(session.input<char>(0), std::streamsize(input.size_bytes)) || file.peek() != EOF) {
      std::fprintf(stderr, "run_model: %s: not a readable file of the %zu bytes of input '%s'\n", argv[2], input.size_bytes, input.name);
      return 1;
    }
  }
  if (session.run() != LQ_OK) {
    std::fprintf(stderr, "run_model: %s\n", lq_last_error());
    return 1;
  }
  const float* values = session.output<float>(0);
  const float* best = std::max_element(values, values + output.size_bytes / sizeof(float));
  std::printf("%s: largest value %g at %zu\n", output.name, *best, size_t(best - values));
}
