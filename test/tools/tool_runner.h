// Runs the real executables in a temporary folder of each test.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace lq::test {

struct Outcome {
  int code = -1;  // exit code; 128 + signal if a signal ended it
  std::string out, err;
};

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& content);
/// Lines without their ends.
std::vector<std::string> lines_of(const std::string& text);
/// The first line that begins with `prefix`, "" if none does.
std::string line_with(const std::string& text, const std::string& prefix);
/// The word after `key`, as a number; NaN if there is none.
double number_after(const std::string& text, const std::string& key);

/// A binary gray (P5) or colour (P6) image of one colour.
std::string pnm(int width, int height, const std::vector<int>& pixel);

class ToolsTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;  // removes the folder

  /// Runs a tool in the test's folder. file_size_limit > 0: writes beyond that many bytes of one file fail.
  Outcome run(const std::string& tool, const std::vector<std::string>& arguments, size_t file_size_limit = 0) const;
  /// run() that must exit with 0.
  Outcome succeeds(const std::string& tool, const std::vector<std::string>& arguments) const;
  /// run() that must fail as the contract asks: an exit code that is no signal's, one line on stderr (warnings aside)
  /// that begins with the tool's name and holds every one of `wanted`, and not one file made, changed or removed.
  Outcome fails(const std::string& tool, const std::vector<std::string>& arguments,
                const std::vector<std::string>& wanted, size_t file_size_limit = 0) const;

  /// mnist.lqm in the folder, with default options.
  void quantize_mnist() const;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  bool exists(const std::string& name) const;
  void make_folder(const std::string& name) const;
  /// Every file below the folder with its content.
  std::map<std::string, std::string> files() const;

  static const std::string kMnist, kCalib, kTest;
  std::string folder_;
};

}  // namespace lq::test
