#include "libquant/libquant.h"

#include <cstring>
#include <new>

#include "format/model_file.h"
#include "runtime/session.h"

struct lq_model { std::shared_ptr<const lq::Model> model; };
struct lq_session { std::unique_ptr<lq::Session> session; };

namespace {

// The message is per thread, as errno is; a fixed buffer so that reporting "out of memory" needs none.
thread_local char last_error[1024] = "";

lq_status fail(lq_status code, const std::string& message) {
  const size_t n = message.size() < sizeof last_error ? message.size() : sizeof last_error - 1;
  std::memcpy(last_error, message.data(), n);
  last_error[n] = '\0';
  return code;
}

lq_status report(const lq::Status& status) {
  if (status.ok()) return LQ_OK;
  return fail(lq_status(int(status.code())), status.message());
}
static_assert(int(lq::StatusCode::kInternal) == LQ_INTERNAL && int(lq::StatusCode::kCorrupt) == LQ_CORRUPT);
static_assert(int(lq::DType::Float64) == LQ_FLOAT64 && int(lq::DType::Int8) == LQ_INT8);

lq_status make_model(lq::Result<lq::ModelIr> ir, lq_model** out) {
  if (!ir.ok()) return report(ir.status());
  lq::Result<std::shared_ptr<lq::Model>> model = lq::Model::create(std::move(*ir));
  if (!model.ok()) return report(model.status());
  *out = new (std::nothrow) lq_model{std::move(*model)};
  return *out != nullptr ? LQ_OK : fail(LQ_OUT_OF_MEMORY, "cannot allocate a model handle");
}

lq_status describe(const lq::Tensor& tensor, lq_tensor_info* info) {
  if (tensor.shape.size() > LQ_MAX_RANK) return fail(LQ_UNSUPPORTED, "tensor '" + tensor.name + "' has more than 8 dimensions");
  info->name = tensor.name.c_str();
  info->dtype = lq_dtype(int(tensor.dtype));
  info->rank = int32_t(tensor.shape.size());
  for (size_t i = 0; i < tensor.shape.size(); ++i) info->shape[i] = tensor.shape[i];
  info->size_bytes = size_t(lq::element_count(tensor.shape)) * lq::dtype_size(tensor.dtype);
  return LQ_OK;
}

bool in_range(int32_t index, size_t count) { return index >= 0 && size_t(index) < count; }

}  // namespace

const char* lq_version(void) { return LQ_VERSION; }
const char* lq_last_error(void) { return last_error; }

lq_status lq_model_open(const char* path, lq_model** model) {
  if (model != nullptr) *model = nullptr;
  if (path == nullptr || model == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_model_open: NULL argument");
  return make_model(lq::read_model_file(path), model);
}

lq_status lq_model_from_memory(const void* data, size_t size, lq_model** model) {
  if (model != nullptr) *model = nullptr;
  if (data == nullptr || model == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_model_from_memory: NULL argument");
  return make_model(lq::read_model(lq::Bytes(data, size, nullptr)), model);
}

void lq_model_free(lq_model* model) { delete model; }

lq_status lq_session_create(lq_model* model, const lq_session_options* options, lq_session** session) {
  if (session != nullptr) *session = nullptr;
  if (model == nullptr || session == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_session_create: NULL argument");
  lq::SessionOptions o;
  if (options != nullptr) {
    if (options->struct_size < sizeof(lq_session_options)) {
      return fail(LQ_INVALID_ARGUMENT, "lq_session_create: set options.struct_size to sizeof(lq_session_options)");
    }
    if (options->threads < 0) return fail(LQ_INVALID_ARGUMENT, "lq_session_create: threads must not be negative");
    if (options->threads > 0) o.threads = options->threads;
    if (options->isa != nullptr) {
      lq::Result<lq::Isa> isa = lq::parse_isa(options->isa);
      if (!isa.ok()) return report(isa.status());
      o.isa = *isa;
    }
  }
  lq::Result<std::unique_ptr<lq::Session>> created = lq::Session::create(model->model, o);
  if (!created.ok()) return report(created.status());
  *session = new (std::nothrow) lq_session{std::move(*created)};
  return *session != nullptr ? LQ_OK : fail(LQ_OUT_OF_MEMORY, "cannot allocate a session handle");
}

void lq_session_free(lq_session* session) { delete session; }

lq_status lq_session_resize(lq_session* session, const char* input, const int64_t* shape, int32_t rank) {
  if (session == nullptr || input == nullptr || (shape == nullptr && rank != 0) || rank < 0 || rank > LQ_MAX_RANK) {
    return fail(LQ_INVALID_ARGUMENT, "lq_session_resize: NULL argument or bad rank");
  }
  return report(session->session->resize({{input, lq::Shape(shape, shape + rank)}}));
}

int32_t lq_session_input_count(const lq_session* session) { return session ? int32_t(session->session->input_count()) : 0; }
int32_t lq_session_output_count(const lq_session* session) { return session ? int32_t(session->session->output_count()) : 0; }

lq_status lq_session_input_info(const lq_session* session, int32_t index, lq_tensor_info* info) {
  if (session == nullptr || info == nullptr || !in_range(index, session->session->input_count())) {
    return fail(LQ_INVALID_ARGUMENT, "lq_session_input_info: NULL argument or no such input");
  }
  return describe(session->session->input(size_t(index)), info);
}

lq_status lq_session_output_info(const lq_session* session, int32_t index, lq_tensor_info* info) {
  if (session == nullptr || info == nullptr || !in_range(index, session->session->output_count())) {
    return fail(LQ_INVALID_ARGUMENT, "lq_session_output_info: NULL argument or no such output");
  }
  return describe(session->session->output(size_t(index)), info);
}

void* lq_session_input(lq_session* session, int32_t index) {
  if (session == nullptr || !in_range(index, session->session->input_count())) return nullptr;
  return session->session->input_data(size_t(index));
}

const void* lq_session_output(const lq_session* session, int32_t index) {
  if (session == nullptr || !in_range(index, session->session->output_count())) return nullptr;
  return session->session->output_data(size_t(index));
}

lq_status lq_session_run(lq_session* session) {
  if (session == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_session_run: NULL session");
  return report(session->session->run());
}

size_t lq_session_arena_bytes(const lq_session* session) { return session ? session->session->arena_bytes() : 0; }
