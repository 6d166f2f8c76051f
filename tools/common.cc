#include "common.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <exception>

#include "base/file.h"

namespace lq::tools {

int run_tool(CLI::App& app, const char* name, int argc, char** argv, const std::function<Status()>& body) {
  app.set_version_flag("--version", std::string(name) + " " LQ_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "%s: %s; see %s --help\n", name, e.what(), name);
    return 2;
  }
  Status status;
  try {
    status = body();
  } catch (const std::exception& e) {  // the toolchain's libraries may throw, std::bad_alloc above all
    status = internal_error(e.what());
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", name, status.message().c_str());
    return 1;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fprintf(stderr, "%s: cannot write to standard output\n", name);
    return 1;
  }
  return 0;
}

Status write_json(const std::string& path, const nlohmann::json& value) {
  // Invalid UTF-8 (names come from untrusted files) is replaced, not thrown on.
  const std::string text = value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return write_file_atomically(path, {{text.data(), text.size()}});
}

ProgressBar::ProgressBar(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0), last_(Clock::now()) {}
ProgressBar::~ProgressBar() {
  if (drawn_ && terminal_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::update(const std::string& what, size_t done, size_t total) {
  if (quiet_) return;
  const auto now = Clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(3000);
  const bool finished = done == total;
  if (now - last_ < pause && !(terminal_ && (finished || what != what_))) return;
  last_ = now;
  what_ = what;
  drawn_ = true;
  if (terminal_) {
    const int width = 30, filled = total == 0 ? 0 : int(double(done) / double(total) * width);
    std::fprintf(stderr, "\r\033[K%s [%s%s] %zu/%zu", what.c_str(), std::string(size_t(filled), '#').c_str(),
                 std::string(size_t(width - filled), '.').c_str(), done, total);
  } else {
    std::fprintf(stderr, "%s %zu/%zu\n", what.c_str(), done, total);
  }
}

std::string format(const char* pattern, ...) {
  va_list args, again;
  va_start(args, pattern);
  va_copy(again, args);
  std::string text(size_t(std::vsnprintf(nullptr, 0, pattern, args)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(args);
  return text;
}

std::string human_bytes(size_t bytes) {
  if (bytes < 10000) return format("%zu bytes", bytes);
  if (bytes < 1000000) return format("%.1f kB", double(bytes) / 1e3);
  return format("%.2f MB", double(bytes) / 1e6);
}

size_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return size_t(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

size_t file_size(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? size_t(info.st_size) : 0;
}

}  // namespace lq::tools
