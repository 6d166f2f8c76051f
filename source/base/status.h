// Status and Result<T>: how every fallible function in libquant reports failure. No exceptions in what ships.
#pragma once
#include <optional>
#include <string>
#include <utility>

namespace lq {

enum class StatusCode { kOk = 0, kInvalidArgument, kNotFound, kIoError, kOutOfMemory, kUnsupported, kCorrupt, kCancelled, kInternal };

/// Name of a code as it appears in messages, e.g. "invalid argument".
const char* status_code_name(StatusCode code);

/// Outcome of an operation: a code and, on failure, one line that names the file or node, the reason and what to do.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  /// The same failure with "prefix: " put before its message (a node or file name added on the way up).
  Status with_context(const std::string& prefix) const {
    return ok() ? *this : Status(code_, prefix + ": " + message_);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status invalid_argument(std::string m) { return {StatusCode::kInvalidArgument, std::move(m)}; }
inline Status not_found(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
inline Status io_error(std::string m) { return {StatusCode::kIoError, std::move(m)}; }
inline Status out_of_memory(std::string m) { return {StatusCode::kOutOfMemory, std::move(m)}; }
inline Status unsupported(std::string m) { return {StatusCode::kUnsupported, std::move(m)}; }
inline Status corrupt(std::string m) { return {StatusCode::kCorrupt, std::move(m)}; }
inline Status internal_error(std::string m) { return {StatusCode::kInternal, std::move(m)}; }

/// A value or a failed Status.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace lq

#define LQ_RETURN_IF_ERROR(expr)              \
  do {                                        \
    ::lq::Status lq_status_ = (expr);         \
    if (!lq_status_.ok()) return lq_status_;  \
  } while (0)

#define LQ_CONCAT_INNER_(a, b) a##b
#define LQ_CONCAT_(a, b) LQ_CONCAT_INNER_(a, b)
#define LQ_ASSIGN_OR_RETURN(lhs, expr)                              \
  auto LQ_CONCAT_(lq_result_, __LINE__) = (expr);                   \
  if (!LQ_CONCAT_(lq_result_, __LINE__).ok()) return LQ_CONCAT_(lq_result_, __LINE__).status(); \
  lhs = std::move(*LQ_CONCAT_(lq_result_, __LINE__))
