// Models quantized elsewhere (LQ_GOLDEN_DIR) give here the bits they gave there: on every ISA of this build that this
// processor has, alone and with threads.
#include "runtime/golden.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "format/model_file.h"
#include "kernels/cpu_features.h"

namespace lq {
namespace {

namespace fs = std::filesystem;

TEST(Golden, ModelsGiveTheBitsOfTheProcessorThatMadeThem) {
  const char* folder = std::getenv("LQ_GOLDEN_DIR");
  if (folder == nullptr) GTEST_SKIP() << "LQ_GOLDEN_DIR is not set: all golden models skipped";
  std::set<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.insert(entry.path());
  ASSERT_FALSE(files.empty()) << folder;
  for (const fs::path& file : files) {
    Result<ModelIr> ir = read_model_file(file.string());
    ASSERT_TRUE(ir.ok()) << ir.status().message();
    Result<std::shared_ptr<Model>> model = Model::create(std::move(*ir));
    ASSERT_TRUE(model.ok()) << model.status().message();
    for (const Isa isa : {Isa::kScalar, best_isa()}) {
      for (const int threads : {1, 3}) {
        SessionOptions options;
        options.isa = isa;
        options.threads = threads;
        const Status status = check_golden(*model, options);
        EXPECT_TRUE(status.ok()) << file << ", " << isa_name(isa) << ", " << threads
                                 << " threads: " << status.message();
      }
    }
    std::printf("  %s\n", file.filename().c_str());
  }
}

}  // namespace
}  // namespace lq
