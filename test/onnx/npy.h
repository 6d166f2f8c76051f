// Reads the .npy files of reference tensors: C order, version 1 or 2.
#pragma once
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lq::test {

struct Npy {
  std::string descr;  // "<f4", "|u1", "<i8" …
  Shape shape;
  std::string data;
  const float* floats() const { return reinterpret_cast<const float*>(data.data()); }
};

inline std::optional<Npy> read_npy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (file.size() < 12 || file.compare(0, 6, "\x93NUMPY") != 0) return std::nullopt;
  uint32_t length = uint8_t(file[8]) | uint32_t(uint8_t(file[9])) << 8;
  const size_t start = file[6] == 1 ? 10 : 12;
  if (start == 12) length |= uint32_t(uint8_t(file[10])) << 16 | uint32_t(uint8_t(file[11])) << 24;
  const std::string header = file.substr(start, length);
  if (header.find("'fortran_order': True") != std::string::npos) return std::nullopt;
  Npy npy;
  const size_t d = header.find("'descr': '") + 10;
  npy.descr = header.substr(d, header.find('\'', d) - d);
  const size_t open = header.find('('), close = header.find(')');
  for (size_t p = open + 1; p < close;) {
    char* end = nullptr;
    const long long v = std::strtoll(header.c_str() + p, &end, 10);
    if (end == header.c_str() + p) break;
    npy.shape.push_back(v);
    p = size_t(end - header.c_str());
    while (p < close && (header[p] == ',' || header[p] == ' ')) ++p;
  }
  npy.data = file.substr(start + length);
  return npy;
}

}  // namespace lq::test
