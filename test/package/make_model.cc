// Writes the models and an input of the package test: make_model TINY.lqm INPUT.bin PHOTO.lqm
#include <cstdio>

#include "base/file.h"
#include "capi/image_model.h"
#include "capi/tiny_model.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const lq::Result<lq::Bytes> model = lq::testing::tiny_model(), photo = lq::testing::image_model(24);
  if (!model.ok() || !photo.ok()) {
    std::fprintf(stderr, "make_model: %s\n", model.status().message().c_str());
    return 1;
  }
  const lq::Status a = lq::write_file_atomically(argv[1], {{model->data(), model->size()}});
  const lq::Status b = lq::write_file_atomically(argv[2], {{lq::testing::kTinyInput[0], sizeof lq::testing::kTinyInput[0]}});
  const lq::Status c = lq::write_file_atomically(argv[3], {{photo->data(), photo->size()}});
  return a.ok() && b.ok() && c.ok() ? 0 : 1;
}
