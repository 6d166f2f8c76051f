// What the files of the C API share: the handles, the thread's message, structs of any version.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "libquant/libquant.h"
#include "runtime/session.h"

struct lq_model {
  std::shared_ptr<const lq::Model> model;
};

struct lq_session {
  std::shared_ptr<const lq::Model> model;
  std::unique_ptr<lq::Session> session;
  lq::Allocator allocator;
  lq_log_fn log = nullptr;
  void* log_context = nullptr;
  std::vector<lq::StepTime> times;  // of the last profiled run; empty before one and after a resize
};

namespace lq::capi {

/// Keeps the message for lq_last_error and passes the code on.
lq_status fail(lq_status code, const std::string& message);
lq_status report(const Status& status);

inline bool in_range(int32_t index, size_t count) { return index >= 0 && size_t(index) < count; }

/// A struct_size beyond this is no version of the future but uninitialised memory.
inline constexpr size_t kLargestStruct = 4096;

inline lq_status bad_size(const char* function, const char* type) {
  return fail(LQ_INVALID_ARGUMENT, std::string(function) + ": set struct_size to sizeof(" + type + ")");
}

/// Reads the caller's struct into `to`, whose fields are its defaults. All versions begin with the fields of the first;
/// when a version appends some, `first` becomes the offset of the first of them.
template <typename T>
lq_status take(const T& from, const char* function, const char* type, T& to, size_t first = sizeof(T)) {
  const size_t size = from.struct_size;
  if (size < first || size > kLargestStruct) return bad_size(function, type);
  std::memcpy(&to, &from, size < sizeof(T) ? size : sizeof(T));
  const char* bytes = reinterpret_cast<const char*>(&from);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0)
      return fail(LQ_UNSUPPORTED, std::string(function) + ": " + type + " has fields this library (" + lq_version() +
                                      ") does not know; update libquant");
  }
  return LQ_OK;
}

/// Writes `from` into the caller's struct, as far as that goes; fields it has beyond ours become 0.
template <typename T>
lq_status give(const T& from, const char* function, const char* type, T* to, size_t first = sizeof(T)) {
  const size_t size = to->struct_size;
  if (size < first || size > kLargestStruct) return bad_size(function, type);
  std::memcpy(to, &from, size < sizeof(T) ? size : sizeof(T));
  if (size > sizeof(T)) std::memset(reinterpret_cast<char*>(to) + sizeof(T), 0, size - sizeof(T));
  to->struct_size = size;
  return LQ_OK;
}

/// Zeros are the default allocator; both functions or neither.
lq_status take_allocator(const lq_allocator& from, const char* function, Allocator& to);

}  // namespace lq::capi
