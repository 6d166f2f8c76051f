// Small helpers of the calibration tests: temporary folders, files, bytes.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "calibration/histogram.h"

namespace lq::calibration {

/// A folder of its own for each test, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/lq_calibration_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& file) const { return path_ + "/" + file; }
  void write(const std::string& file, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(*this / file).parent_path());
    std::ofstream(*this / file, std::ios::binary) << bytes;
  }

 private:
  std::string path_;
};

/// The histogram of these values over a range that holds them.
inline Histogram histogram_of(const std::vector<float>& values, ValueRange range) {
  RangeStats stats;
  stats.add(values.data(), values.size(), "");
  GrowingHistogram growing;
  growing.add(values.data(), values.size(), stats.range());
  return growing.over(range);
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline std::string data_file(const std::string& name) {
  return std::string(LQ_SOURCE_DIR) + "/test/calibration/data/" + name;
}
inline const uint8_t* bytes_of(const std::string& s) { return reinterpret_cast<const uint8_t*>(s.data()); }

/// A .npy file as NumPy writes it, put together from its published format.
inline std::string make_npy(const std::string& descr, const std::string& shape, const std::string& data,
                            bool fortran = false) {
  std::string dict =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  while ((dict.size() + 11) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += char(dict.size() & 255);
  out += char(dict.size() >> 8);
  return out + dict + data;
}
template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Zip with stored members, written by the format's description (APPNOTE 4.3); sizes may be forged by the caller
/// afterwards.
std::string make_zip(const std::vector<std::pair<std::string, std::string>>& members, bool deflate);

}  // namespace lq::calibration
