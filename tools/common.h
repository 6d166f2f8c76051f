// What the five tools share: one way to end, one way to say how far it is, numbers in a fixed form.
#pragma once
#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"

namespace lq::tools {

/// Parses the command line and runs `body`. --help and --version end with 0; a bad command line with 2; a failed Status
/// with 1. Failures print one line on stderr: "tool: message".
int run_tool(CLI::App& app, const char* name, int argc, char** argv, const std::function<Status()>& body);

/// Accepts numbers from `low` up. (CLI11's own validators print the largest double, 300 digits, as the upper end.)
CLI::Validator at_least(int low);

/// Names the file in the error of something that was made from it.
template <typename T>
Result<T> in_file(const std::string& path, Result<T> result) {
  if (!result.ok()) return result.status().with_context(path);
  return result;
}

/// An error if `path` cannot become a file: it is a folder, or its folder is missing or not writable. Asked before long
/// work, so that a typing error costs no calibration. `option` names where the path was given.
Status check_writable(const std::string& option, const std::string& path);

/// Files a tool has written so far. Unless all of them were (`keep`), the destructor removes them: nothing half done stays.
class WrittenFiles {
 public:
  ~WrittenFiles();
  /// Passes the outcome of writing `path` on.
  Status add(const std::string& path, Status written);
  void keep() { paths_.clear(); }

 private:
  std::vector<std::string> paths_;
};

/// Writes JSON to a file (through a temporary file).
Status write_json(const std::string& path, const nlohmann::json& value);

/// Progress on stderr: a bar on a terminal, otherwise a line every few seconds. Thread-safe if called one at a time.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  void update(const std::string& what, size_t done, size_t total);

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_, drawn_ = false;
  Clock::time_point last_;
  std::string what_;
};

/// printf into a string.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
/// "12.3 MB", "842 bytes".
std::string human_bytes(size_t bytes);
/// Size of a file, 0 if it cannot be read.
size_t file_size(const std::string& path);

}  // namespace lq::tools
