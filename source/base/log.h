// Log callback: libquant prints nothing by itself.
#pragma once
#include <string>

namespace lq {

enum class LogLevel { kDebug = 0, kInfo, kWarning, kError };
struct Logger {
  void (*write)(void* context, LogLevel level, const char* message) = nullptr;
  void* context = nullptr;
  void log(LogLevel level, const std::string& message) const {
    if (write) write(context, level, message.c_str());
  }
};

}  // namespace lq
