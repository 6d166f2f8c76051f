#include <gtest/gtest.h>
#include <libquant/libquant.h>

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <libquant/libquant.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "capi/c_program.h"
#include "capi/tiny_model.h"

namespace lq::testing {
namespace {

std::vector<uint8_t> tiny_bytes() {
  Result<Bytes> bytes = tiny_model();
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? std::vector<uint8_t>(bytes->data(), bytes->data() + bytes->size()) : std::vector<uint8_t>();
}

/// A file of the tiny model, removed at the end of the test.
struct TinyFile {
  std::string path = ::testing::TempDir() + "capi_tiny_" + std::to_string(getpid()) + ".lqm";
  TinyFile() {
    const std::vector<uint8_t> bytes = tiny_bytes();
    EXPECT_TRUE(write_file_atomically(path, {{bytes.data(), bytes.size()}}).ok());
  }
  ~TinyFile() { std::remove(path.c_str()); }
};

std::string last_error() { return lq_last_error(); }
bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(Capi, RunsFromACProgram) {
  TinyFile file;
  float y[2] = {};
  ASSERT_EQ(c_program(file.path.c_str(), kTinyInput[0], y), 0) << last_error();
  EXPECT_EQ(y[0], kTinyOutput[0][0]);
  EXPECT_EQ(y[1], kTinyOutput[0][1]);
}

TEST(Capi, RunsAndResizesThroughTheCppWrapper) {
  TinyFile file;
  libquant::Model model(file.path);
  ASSERT_TRUE(model.ok()) << last_error();
  libquant::Session session(model);
  ASSERT_TRUE(session.ok()) << last_error();
  EXPECT_GT(lq_session_arena_bytes(session.get()), 0u);
  ASSERT_EQ(session.resize("x", {2, 4}), LQ_OK) << last_error();
  EXPECT_EQ(session.input_info(0).shape[0], 2);
  ASSERT_EQ(session.input_info(0).size_bytes, sizeof kTinyInput);
  std::memcpy(session.input<float>(0), kTinyInput, sizeof kTinyInput);
  ASSERT_EQ(session.run(), LQ_OK) << last_error();
  ASSERT_EQ(session.output_info(0).size_bytes, sizeof kTinyOutput);
  EXPECT_EQ(std::memcmp(session.output<float>(0), kTinyOutput, sizeof kTinyOutput), 0);
}

TEST(Capi, WrapperCarriesAFailedOpenAlong) {
  libquant::Model model("no/such/file.lqm");
  EXPECT_EQ(model.status(), LQ_NOT_FOUND);
  libquant::Session session(model);
  EXPECT_FALSE(session.ok());
  EXPECT_EQ(session.status(), LQ_NOT_FOUND);
  EXPECT_EQ(session.run(), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(session.input_count(), 0);
}

// Android hands out assets at any address.
TEST(Capi, ModelFromMemoryAtAnyAlignment) {
  const std::vector<uint8_t> bytes = tiny_bytes();
  std::vector<uint8_t> memory(bytes.size() + 64);
  for (size_t offset = 0; offset < 64; ++offset) {
    std::memcpy(memory.data() + offset, bytes.data(), bytes.size());
    libquant::Model model(memory.data() + offset, bytes.size());
    ASSERT_TRUE(model.ok()) << "offset " << offset << ": " << last_error();
    libquant::Session session(model);
    ASSERT_TRUE(session.ok()) << "offset " << offset << ": " << last_error();
    std::memcpy(session.input<float>(0), kTinyInput[0], sizeof kTinyInput[0]);
    ASSERT_EQ(session.run(), LQ_OK);
    EXPECT_EQ(std::memcmp(session.output<float>(0), kTinyOutput[0], sizeof kTinyOutput[0]), 0) << "offset " << offset;
  }
}

TEST(Capi, SessionOutlivesTheModelHandle) {
  const std::vector<uint8_t> bytes = tiny_bytes();
  lq_model* model = nullptr;
  lq_session* session = nullptr;
  ASSERT_EQ(lq_model_from_memory(bytes.data(), bytes.size(), nullptr, &model), LQ_OK);
  ASSERT_EQ(lq_session_create(model, nullptr, &session), LQ_OK);
  lq_model_free(model);
  std::memcpy(lq_session_input(session, 0), kTinyInput[0], sizeof kTinyInput[0]);
  EXPECT_EQ(lq_session_run(session), LQ_OK);
  EXPECT_EQ(static_cast<const float*>(lq_session_output(session, 0))[1], kTinyOutput[0][1]);
  lq_session_free(session);
}

TEST(CapiErrors, NullArguments) {
  const std::vector<uint8_t> bytes = tiny_bytes();
  lq_model* model = nullptr;
  lq_session* session = nullptr;
  EXPECT_EQ(lq_model_open(nullptr, nullptr, &model), LQ_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(last_error(), "lq_model_open")) << last_error();
  EXPECT_EQ(lq_model_open("x.lqm", nullptr, nullptr), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(lq_model_from_memory(nullptr, 0, nullptr, &model), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(lq_model_from_memory(bytes.data(), bytes.size(), nullptr, nullptr), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(lq_session_create(nullptr, nullptr, &session), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(lq_session_run(nullptr), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(lq_session_resize(nullptr, "x", nullptr, 0), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(lq_session_input_count(nullptr), 0);
  EXPECT_EQ(lq_session_output_count(nullptr), 0);
  EXPECT_EQ(lq_session_input(nullptr, 0), nullptr);
  EXPECT_EQ(lq_session_output(nullptr, 0), nullptr);
  EXPECT_EQ(lq_session_arena_bytes(nullptr), 0u);
  lq_model_free(nullptr);
  lq_session_free(nullptr);

  ASSERT_EQ(lq_model_from_memory(bytes.data(), bytes.size(), nullptr, &model), LQ_OK);
  EXPECT_EQ(lq_session_create(model, nullptr, nullptr), LQ_INVALID_ARGUMENT);
  ASSERT_EQ(lq_session_create(model, nullptr, &session), LQ_OK);
  EXPECT_EQ(lq_session_input_info(session, 0, nullptr), LQ_INVALID_ARGUMENT);
  lq_tensor_info info{};
  info.struct_size = sizeof info;
  for (int index : {-1, 1, 1 << 30}) {
    EXPECT_EQ(lq_session_input_info(session, index, &info), LQ_INVALID_ARGUMENT);
    EXPECT_EQ(lq_session_output_info(session, index, &info), LQ_INVALID_ARGUMENT);
    EXPECT_EQ(lq_session_input(session, index), nullptr);
    EXPECT_EQ(lq_session_output(session, index), nullptr);
  }
  lq_session_free(session);
  lq_model_free(model);
}

TEST(CapiErrors, FilesThatAreNoModel) {
  lq_model* model = reinterpret_cast<lq_model*>(1);  // must be overwritten
  EXPECT_EQ(lq_model_open("/no/such/model.lqm", nullptr, &model), LQ_NOT_FOUND);
  EXPECT_EQ(model, nullptr);
  EXPECT_TRUE(contains(last_error(), "/no/such/model.lqm")) << last_error();

  const char text[] = "this is a text, not a model, and it is longer than a header of 64 bytes";
  EXPECT_EQ(lq_model_from_memory(text, sizeof text, nullptr, &model), LQ_CORRUPT) << last_error();
  EXPECT_EQ(lq_model_from_memory(text, 3, nullptr, &model), LQ_CORRUPT) << last_error();

  std::vector<uint8_t> bytes = tiny_bytes();
  for (size_t size = 1; size < bytes.size(); size += 7) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + ptrdiff_t(size));  // its own block: ASan sees a read past it
    EXPECT_NE(lq_model_from_memory(cut.data(), size, nullptr, &model), LQ_OK) << size;
    EXPECT_EQ(model, nullptr);
  }
  bytes[bytes.size() / 2] ^= 0x10;
  EXPECT_EQ(lq_model_from_memory(bytes.data(), bytes.size(), nullptr, &model), LQ_CORRUPT);
  EXPECT_FALSE(last_error().empty());
}

TEST(CapiErrors, BadOptions) {
  const std::vector<uint8_t> bytes = tiny_bytes();
  libquant::Model model(bytes.data(), bytes.size());
  lq_session* session = nullptr;
  lq_session_options options{};
  EXPECT_EQ(lq_session_create(model.get(), &options, &session), LQ_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(last_error(), "struct_size")) << last_error();
  options.struct_size = sizeof options;
  options.threads = -1;
  EXPECT_EQ(lq_session_create(model.get(), &options, &session), LQ_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(last_error(), "threads")) << last_error();
  options.threads = INT32_MAX;
  EXPECT_EQ(lq_session_create(model.get(), &options, &session), LQ_INVALID_ARGUMENT);
  options.threads = 0;
  options.isa = "abacus";
  EXPECT_NE(lq_session_create(model.get(), &options, &session), LQ_OK);
  EXPECT_TRUE(contains(last_error(), "abacus")) << last_error();
  EXPECT_EQ(session, nullptr);
  options.isa = "scalar";
  const int unknown = 2;
  std::memcpy(&options.memory, &unknown, sizeof unknown);
  EXPECT_EQ(lq_session_create(model.get(), &options, &session), LQ_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(last_error(), "memory")) << last_error();
  options.memory = LQ_MEMORY_SMALL;
  EXPECT_EQ(lq_session_create(model.get(), &options, &session), LQ_OK) << last_error();
  lq_session_free(session);
}

TEST(CapiErrors, AFailedResizeLeavesTheSessionAsItWas) {
  const std::vector<uint8_t> bytes = tiny_bytes();
  libquant::Model model(bytes.data(), bytes.size());
  libquant::Session session(model);
  ASSERT_TRUE(session.ok()) << last_error();
  EXPECT_NE(session.resize("nobody", {1, 4}), LQ_OK);
  EXPECT_TRUE(contains(last_error(), "nobody")) << last_error();
  EXPECT_NE(session.resize("x", {1, 5}), LQ_OK);
  EXPECT_NE(session.resize("x", {-2, 4}), LQ_OK);
  EXPECT_NE(session.resize("x", {INT64_MAX, 4}), LQ_OK);
  EXPECT_NE(session.resize("x", {1, 1, 1, 1, 1, 1, 1, 1, 4}), LQ_OK);  // more than LQ_MAX_RANK
  EXPECT_EQ(lq_session_resize(session.get(), "x", nullptr, 2), LQ_INVALID_ARGUMENT);
  std::memcpy(session.input<float>(0), kTinyInput[0], sizeof kTinyInput[0]);
  ASSERT_EQ(session.run(), LQ_OK);
  EXPECT_EQ(session.output<float>(0)[0], kTinyOutput[0][0]);
}

TEST(CapiErrors, MessagesBelongToTheirThread) {
  lq_model* model = nullptr;
  EXPECT_EQ(lq_model_open("/first", nullptr, &model), LQ_NOT_FOUND);
  std::thread([&] {
    EXPECT_EQ(last_error(), "");
    lq_model* other = nullptr;
    EXPECT_EQ(lq_model_open("/second", nullptr, &other), LQ_NOT_FOUND);
    EXPECT_TRUE(contains(last_error(), "/second"));
  }).join();
  EXPECT_TRUE(contains(last_error(), "/first")) << last_error();
}

TEST(CapiErrors, ALongMessageIsCut) {
  const std::string path(5000, 'p');
  lq_model* model = nullptr;
  EXPECT_NE(lq_model_open(path.c_str(), nullptr, &model), LQ_OK);
  EXPECT_LT(last_error().size(), 1024u);
}

TEST(Capi, Version) { EXPECT_EQ(std::string(lq_version()).find("0."), 0u); }

}  // namespace
}  // namespace lq::testing
