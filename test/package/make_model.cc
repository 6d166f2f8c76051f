// Writes a small model and an input for the package test: make_model MODEL.lqm INPUT.bin
#include <cstdio>

#include "base/file.h"
#include "capi/tiny_model.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  lq::Result<lq::Bytes> model = lq::testing::tiny_model();
  if (!model.ok()) {
    std::fprintf(stderr, "make_model: %s\n", model.status().message().c_str());
    return 1;
  }
  const lq::Status a = lq::write_file_atomically(argv[1], {{model->data(), model->size()}});
  const lq::Status b = lq::write_file_atomically(argv[2], {{lq::testing::kTinyInput[0], sizeof lq::testing::kTinyInput[0]}});
  return a.ok() && b.ok() ? 0 : 1;
}
