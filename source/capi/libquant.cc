// Version, errors, models.
#include "libquant/libquant.h"

#include <new>

#include "base/file.h"
#include "base/pages.h"
#include "capi/handles.h"
#include "format/model_file.h"

namespace lq::capi {
namespace {

// The message is per thread, as errno is; a fixed buffer so that reporting "out of memory" needs none.
thread_local char last_error[1024] = "";

static_assert(int(StatusCode::kInternal) == LQ_INTERNAL && int(StatusCode::kCorrupt) == LQ_CORRUPT);
static_assert(int(DType::Float64) == LQ_FLOAT64 && int(DType::Int8) == LQ_INT8);

lq_status make_model(const Bytes& file, const std::string& name, const lq_model_options* options, const char* function,
                     lq_model** out) {
  Allocator allocator = default_allocator();
  if (options != nullptr) {
    lq_model_options o{};
    if (const lq_status status = take(*options, function, "lq_model_options", o)) return status;
    if (const lq_status status = take_allocator(o.allocator, function, allocator)) return status;
  }
  Result<ModelIr> ir = read_model(file);
  if (!ir.ok()) return report(name.empty() ? ir.status() : ir.status().with_context(name));
  Result<std::shared_ptr<Model>> model = Model::create(std::move(*ir), allocator);
  if (!model.ok()) return report(name.empty() ? model.status() : model.status().with_context(name));
  *out = new (std::nothrow) lq_model{std::move(*model)};
  return *out != nullptr ? LQ_OK : fail(LQ_OUT_OF_MEMORY, "cannot allocate a model handle");
}

}  // namespace

lq_status fail(lq_status code, const std::string& message) {
  const size_t n = message.size() < sizeof last_error ? message.size() : sizeof last_error - 1;
  std::memcpy(last_error, message.data(), n);
  last_error[n] = '\0';
  return code;
}

lq_status report(const Status& status) {
  if (status.ok()) return LQ_OK;
  return fail(lq_status(int(status.code())), status.message());
}

lq_status take_allocator(const lq_allocator& from, const char* function, Allocator& to) {
  if ((from.allocate == nullptr) != (from.release == nullptr))
    return fail(LQ_INVALID_ARGUMENT, std::string(function) + ": an allocator needs both of its functions");
  if (from.allocate != nullptr) to = {from.allocate, from.release, from.context};
  return LQ_OK;
}

}  // namespace lq::capi

using namespace lq::capi;

const char* lq_version(void) { return LQ_VERSION; }
const char* lq_last_error(void) { return last_error; }

lq_allocator lq_huge_page_allocator(void) {
  const lq::Allocator& a = lq::huge_page_allocator();
  return {a.allocate, a.release, a.context};
}

lq_status lq_model_open(const char* path, const lq_model_options* options, lq_model** model) {
  if (model != nullptr) *model = nullptr;
  if (path == nullptr || model == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_model_open: NULL argument");
  lq::Result<lq::Bytes> file = lq::map_file(path);
  if (!file.ok()) return report(file.status());
  return make_model(*file, path, options, "lq_model_open", model);
}

lq_status lq_model_from_memory(const void* data, size_t size, const lq_model_options* options, lq_model** model) {
  if (model != nullptr) *model = nullptr;
  if (data == nullptr || model == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_model_from_memory: NULL argument");
  return make_model(lq::Bytes(data, size, nullptr), "", options, "lq_model_from_memory", model);
}

lq_status lq_model_from_fd(int fd, uint64_t offset, uint64_t length, const lq_model_options* options,
                           lq_model** model) {
  if (model != nullptr) *model = nullptr;
  if (model == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_model_from_fd: NULL argument");
  const std::string name = "file descriptor " + std::to_string(fd);
  lq::Result<lq::Bytes> file = lq::map_descriptor(fd, offset, length, name);
  if (!file.ok()) return report(file.status());
  return make_model(*file, name, options, "lq_model_from_fd", model);
}

void lq_model_free(lq_model* model) { delete model; }
