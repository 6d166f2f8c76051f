#include "common.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>

#include "base/file.h"

namespace lq::tools {
namespace {

/// Names from untrusted files may hold line ends and terminal escapes; an error stays one line of text.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

int fail(const char* tool, int code, const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", tool, one_line(message).c_str());
  return code;
}

}  // namespace

int run_tool(CLI::App& app, const char* name, int argc, char** argv, const std::function<Status()>& body) {
  // Beyond a file size limit write() then fails like on a full disk, and the temporary file is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  app.set_version_flag("--version", std::string(name) + " " LQ_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    return fail(name, 2, std::string(e.what()) + "; see " + name + " --help");
  }
  Status status;
  try {
    status = body();
  } catch (const std::exception& e) {  // the toolchain's libraries may throw, std::bad_alloc above all
    status = internal_error(e.what());
  }
  if (!status.ok()) return fail(name, 1, status.message());
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) return fail(name, 1, "cannot write to standard output");
  return 0;
}

CLI::Validator at_least(int low) {
  return CLI::Validator(
      [low](std::string& text) {
        double value = 0;
        return CLI::detail::lexical_cast(text, value) && value >= low ? std::string() : "'" + text + "' is not a number of " + std::to_string(low) + " or more";
      },
      "");
}

Status check_writable(const std::string& option, const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return invalid_argument(option + " " + path + ": is a folder; give a file name");
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (access(folder.c_str(), W_OK | X_OK) != 0) return io_error(option + " " + path + ": cannot write there: " + std::strerror(errno));
  return {};
}

WrittenFiles::~WrittenFiles() {
  for (const std::string& path : paths_) unlink(path.c_str());
}

Status WrittenFiles::add(const std::string& path, Status written) {
  if (written.ok()) paths_.push_back(path);
  return written;
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

size_t file_size(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? size_t(info.st_size) : 0;
}

}  // namespace lq::tools
