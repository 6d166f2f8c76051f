// Thin C++17 RAII over libquant.h. Errors are values: check ok(), or ask status() and lq_last_error().
#ifndef LIBQUANT_LIBQUANT_HPP_
#define LIBQUANT_LIBQUANT_HPP_

#include <memory>
#include <string>
#include <vector>

#include "libquant/libquant.h"

namespace libquant {

class Model {
 public:
  explicit Model(const std::string& path) { status_ = own(lq_model_open(path.c_str(), &raw_)); }
  /// `data` is not copied and must outlive the model and its sessions.
  Model(const void* data, size_t size) { status_ = own(lq_model_from_memory(data, size, &raw_)); }
  bool ok() const { return status_ == LQ_OK; }
  lq_status status() const { return status_; }
  lq_model* get() const { return model_.get(); }

 private:
  lq_status own(lq_status status) {
    model_.reset(raw_);
    return status;
  }
  struct Free { void operator()(lq_model* m) const { lq_model_free(m); } };
  lq_model* raw_ = nullptr;
  std::unique_ptr<lq_model, Free> model_;
  lq_status status_ = LQ_OK;
};

class Session {
 public:
  explicit Session(const Model& model, int threads = 1, const char* isa = nullptr) {
    lq_session_options options{sizeof(lq_session_options), threads, isa};
    lq_session* raw = nullptr;
    status_ = model.ok() ? lq_session_create(model.get(), &options, &raw) : model.status();
    session_.reset(raw);
  }
  bool ok() const { return status_ == LQ_OK; }
  lq_status status() const { return status_; }
  lq_session* get() const { return session_.get(); }

  lq_status resize(const std::string& input, const std::vector<int64_t>& shape) {
    return lq_session_resize(session_.get(), input.c_str(), shape.data(), int32_t(shape.size()));
  }
  int input_count() const { return lq_session_input_count(session_.get()); }
  int output_count() const { return lq_session_output_count(session_.get()); }
  lq_tensor_info input_info(int i) const {
    lq_tensor_info info{};
    lq_session_input_info(session_.get(), i, &info);
    return info;
  }
  lq_tensor_info output_info(int i) const {
    lq_tensor_info info{};
    lq_session_output_info(session_.get(), i, &info);
    return info;
  }
  template <typename T> T* input(int i) { return static_cast<T*>(lq_session_input(session_.get(), i)); }
  template <typename T> const T* output(int i) const { return static_cast<const T*>(lq_session_output(session_.get(), i)); }
  lq_status run() { return lq_session_run(session_.get()); }

 private:
  struct Free { void operator()(lq_session* s) const { lq_session_free(s); } };
  std::unique_ptr<lq_session, Free> session_;
  lq_status status_ = LQ_OK;
};

}  // namespace libquant
#endif  // LIBQUANT_LIBQUANT_HPP_
