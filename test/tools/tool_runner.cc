#include "tools/tool_runner.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lq::test {

namespace fs = std::filesystem;

const std::string ToolsTest::kMnist = LQ_SOURCE_DIR "/examples/mnist/mnist.onnx";
const std::string ToolsTest::kCalib = LQ_SOURCE_DIR "/examples/mnist/calib";
const std::string ToolsTest::kTest = LQ_SOURCE_DIR "/examples/mnist/test";

namespace {

constexpr unsigned kSecondsAtMost = 120;

/// In the child: redirects, limits, exec. Never returns.
[[noreturn]] void become(const std::vector<std::string>& words, const std::string& folder, const std::string& out,
                         const std::string& err, size_t file_size_limit) {
  const int null = open("/dev/null", O_RDONLY);
  const int to_out = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
            to_err = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (null < 0 || to_out < 0 || to_err < 0 || chdir(folder.c_str()) != 0) _exit(126);
  dup2(null, 0);
  dup2(to_out, 1);
  dup2(to_err, 2);
  alarm(kSecondsAtMost);
  if (file_size_limit > 0) {
    const rlimit limit{file_size_limit, file_size_limit};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string line_with(const std::string& text, const std::string& prefix) {
  for (const std::string& line : lines_of(text)) {
    if (line.rfind(prefix, 0) == 0) return line;
  }
  return "";
}

double number_after(const std::string& text, const std::string& key) {
  const size_t at = text.find(key + " ");
  return at == std::string::npos ? std::nan("") : std::strtod(text.c_str() + at + key.size() + 1, nullptr);
}

std::string pnm(int width, int height, const std::vector<int>& pixel) {
  std::string text =
      (pixel.size() == 1 ? "P5\n" : "P6\n") + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
  for (int i = 0; i < width * height; ++i) {
    for (int v : pixel) text += char(v);
  }
  return text;
}

void ToolsTest::SetUp() {
  std::string pattern = (fs::temp_directory_path() / "lq_tools_XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  // Two folders: the streams are kept beside, so that files() sees only what the tool itself makes.
  folder_ = pattern + "/work";
  fs::create_directory(folder_);
}

void ToolsTest::TearDown() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(fs::path(folder_).parent_path(), error);
}

Outcome ToolsTest::run(const std::string& tool, const std::vector<std::string>& arguments,
                       size_t file_size_limit) const {
  std::vector<std::string> words = {std::string(LQ_TOOLS_DIR) + "/" + tool};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string out = fs::path(folder_).parent_path() / "stdout", err = fs::path(folder_).parent_path() / "stderr";
  const pid_t child = fork();
  if (child == 0) become(words, folder_, out, err, file_size_limit);
  Outcome outcome;
  int state = 0;
  if (child < 0 || waitpid(child, &state, 0) != child) return outcome;
  outcome.code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  outcome.out = read_text(out);
  outcome.err = read_text(err);
  return outcome;
}

Outcome ToolsTest::succeeds(const std::string& tool, const std::vector<std::string>& arguments) const {
  Outcome o = run(tool, arguments);
  EXPECT_EQ(o.code, 0) << tool << " " << ::testing::PrintToString(arguments) << "\n" << o.out << o.err;
  return o;
}

Outcome ToolsTest::fails(const std::string& tool, const std::vector<std::string>& arguments,
                         const std::vector<std::string>& wanted, size_t file_size_limit) const {
  SCOPED_TRACE(tool + " " + ::testing::PrintToString(arguments));
  const auto before = files();
  Outcome o = run(tool, arguments, file_size_limit);
  EXPECT_NE(o.code, 0);
  EXPECT_LT(o.code, 126) << "ended by a signal or not started\n" << o.err;
  std::vector<std::string> errors;
  for (const std::string& line : lines_of(o.err)) {
    if (line.rfind("warning: ", 0) != 0) errors.push_back(line);
  }
  EXPECT_EQ(errors.size(), 1u) << o.err;
  if (!errors.empty()) {
    EXPECT_EQ(errors[0].rfind(tool + ": ", 0), 0u) << errors[0];
    for (const std::string& w : wanted)
      EXPECT_NE(errors[0].find(w), std::string::npos) << "no '" << w << "' in: " << errors[0];
  }
  EXPECT_TRUE(files() == before) << "it made, changed or removed files";
  return o;
}

void ToolsTest::quantize_mnist() const {
  succeeds("quantize", {"--calib", kCalib, "--preprocess", "raw", kMnist});
  ASSERT_TRUE(exists("mnist.lqm"));
}

bool ToolsTest::exists(const std::string& name) const { return fs::exists(path(name)); }
void ToolsTest::make_folder(const std::string& name) const { fs::create_directories(path(name)); }

std::map<std::string, std::string> ToolsTest::files() const {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    found[entry.path()] = entry.is_regular_file() ? read_text(entry.path()) : "";
  }
  return found;
}

}  // namespace lq::test
