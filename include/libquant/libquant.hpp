// Thin C++17 RAII over libquant.h, which says what each call does. Errors are values: check ok(), or ask status() and
// lq_last_error(). Nothing here throws but what std::string and std::vector may.
#ifndef LIBQUANT_LIBQUANT_HPP_
#define LIBQUANT_LIBQUANT_HPP_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libquant/libquant.h"

namespace libquant {

using Shape = std::vector<int64_t>;

/// Immutable, shared by any number of sessions and threads.
class Model {
 public:
  explicit Model(const std::string& path, const lq_model_options* options = nullptr) {
    own([&](lq_model** m) { return lq_model_open(path.c_str(), options, m); });
  }
  /// `data` is not copied and must outlive the model and its sessions.
  Model(const void* data, size_t size, const lq_model_options* options = nullptr) {
    own([&](lq_model** m) { return lq_model_from_memory(data, size, options, m); });
  }
  /// `length` bytes (0: all) of an open file, e.g. an uncompressed Android asset; the descriptor may be closed
  /// afterwards.
  static Model from_fd(int fd, uint64_t offset = 0, uint64_t length = 0, const lq_model_options* options = nullptr) {
    Model model;
    model.own([&](lq_model** m) { return lq_model_from_fd(fd, offset, length, options, m); });
    return model;
  }
  bool ok() const { return status_ == LQ_OK; }
  lq_status status() const { return status_; }
  lq_model* get() const { return model_.get(); }

 private:
  Model() = default;
  template <typename Make>
  void own(Make&& make) {
    lq_model* raw = nullptr;
    status_ = make(&raw);
    model_.reset(raw);
  }
  struct Free {
    void operator()(lq_model* m) const { lq_model_free(m); }
  };
  std::unique_ptr<lq_model, Free> model_;
  lq_status status_ = LQ_OK;
};

/// lq_session_options that own what they point to.
struct Options {
  int threads = 1;
  std::string isa;  // empty: the best
  std::map<std::string, Shape> input_shapes;
  std::vector<int32_t> cores;
  lq_allocator allocator{};
  lq_parallel_for_fn parallel_for = nullptr;
  void* parallel_for_context = nullptr;
  lq_log_fn log = nullptr;
  void* log_context = nullptr;
  lq_memory_use memory = LQ_MEMORY_DEFAULT;
  bool pin_threads = false;

  /// Calls use(const lq_session_options*) with a view of this.
  template <typename Use>
  lq_status with(Use&& use) const {
    std::vector<lq_input_shape> shapes;
    for (const auto& [name, shape] : input_shapes)
      shapes.push_back({name.c_str(), shape.data(), int32_t(shape.size())});
    lq_session_options o{};
    o.struct_size = sizeof o;
    o.threads = threads;
    o.isa = isa.empty() ? nullptr : isa.c_str();
    o.input_shapes = shapes.data(), o.input_shape_count = int32_t(shapes.size());
    o.cores = cores.data(), o.core_count = int32_t(cores.size());
    o.allocator = allocator;
    o.parallel_for = parallel_for, o.parallel_for_context = parallel_for_context;
    o.log = log, o.log_context = log_context;
    o.memory = memory;
    o.pin_threads = pin_threads;
    return use(static_cast<const lq_session_options*>(&o));
  }
};

/// One thread's executable instance of a model.
class Session {
 public:
  explicit Session(const Model& model, int threads = 1) : Session(model, with_threads(threads)) {}
  Session(const Model& model, const Options& options) {
    lq_session* raw = nullptr;
    status_ = model.ok()
                  ? options.with([&](const lq_session_options* o) { return lq_session_create(model.get(), o, &raw); })
                  : model.status();
    session_.reset(raw);
  }
  /// What the session would allocate, without allocating it.
  static lq_status measure(const Model& model, const Options& options, lq_memory& memory) {
    memory = {};
    memory.struct_size = sizeof memory;
    return model.ok()
               ? options.with([&](const lq_session_options* o) { return lq_session_measure(model.get(), o, &memory); })
               : model.status();
  }
  bool ok() const { return status_ == LQ_OK; }
  lq_status status() const { return status_; }
  lq_session* get() const { return session_.get(); }

  lq_status resize(const std::string& input, const Shape& shape) {
    return lq_session_resize(get(), input.c_str(), shape.data(), int32_t(shape.size()));
  }
  int input_count() const { return lq_session_input_count(get()); }
  int output_count() const { return lq_session_output_count(get()); }
  int find_input(const std::string& name) const { return lq_session_find_input(get(), name.c_str()); }
  int find_output(const std::string& name) const { return lq_session_find_output(get(), name.c_str()); }
  lq_tensor_info input_info(int i) const {
    lq_tensor_info info{};
    info.struct_size = sizeof info;
    lq_session_input_info(get(), i, &info);
    return info;
  }
  lq_tensor_info output_info(int i) const {
    lq_tensor_info info{};
    info.struct_size = sizeof info;
    lq_session_output_info(get(), i, &info);
    return info;
  }
  template <typename T>
  T* input(int i) {
    return static_cast<T*>(lq_session_input(get(), i));
  }
  template <typename T>
  const T* output(int i) const {
    return static_cast<const T*>(lq_session_output(get(), i));
  }

  /// dtype 0: the tensor's own. data nullptr: the session's own buffer again.
  lq_status bind_input(int i, void* data, size_t bytes, lq_dtype dtype = lq_dtype(0),
                       lq_layout layout = LQ_LAYOUT_MODEL) {
    const lq_buffer buffer{sizeof buffer, data, bytes, dtype, layout};
    return lq_session_bind_input(get(), i, &buffer);
  }
  lq_status bind_output(int i, void* data, size_t bytes, lq_dtype dtype = lq_dtype(0),
                        lq_layout layout = LQ_LAYOUT_MODEL) {
    const lq_buffer buffer{sizeof buffer, data, bytes, dtype, layout};
    return lq_session_bind_output(get(), i, &buffer);
  }
  /// The model's own preprocessing; stride 0: rows without padding.
  lq_status set_image(int i, const uint8_t* pixels, int width, int height, lq_pixel_format format, size_t stride = 0,
                      int batch = 0) {
    const lq_image image{sizeof image, pixels, width, height, stride, format};
    return lq_session_set_image(get(), i, batch, &image);
  }

  lq_status run() { return lq_session_run(get()); }
  void cancel() { lq_session_cancel(get()); }  // from any thread
  lq_status run_profiled() { return lq_session_run_profiled(get()); }
  std::vector<lq_profile_entry> profile() const {
    std::vector<lq_profile_entry> entries(size_t(lq_session_profile_count(get())));
    for (size_t i = 0; i < entries.size(); ++i) {
      entries[i].struct_size = sizeof entries[i];
      lq_session_profile(get(), int32_t(i), &entries[i]);
    }
    return entries;
  }

 private:
  static Options with_threads(int threads) {
    Options options;
    options.threads = threads;
    return options;
  }
  struct Free {
    void operator()(lq_session* s) const { lq_session_free(s); }
  };
  std::unique_ptr<lq_session, Free> session_;
  lq_status status_ = LQ_OK;
};

}  // namespace libquant
#endif  // LIBQUANT_LIBQUANT_HPP_
