#include "calibration/npy.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "base/file.h"

namespace lq::calibration {
namespace {

struct TypeRow {
  const char* code;
  DType dtype;
};
constexpr TypeRow kTypes[] = {{"f4", DType::Float32}, {"f8", DType::Float64}, {"i1", DType::Int8},
                              {"u1", DType::UInt8},   {"i2", DType::Int16},   {"u2", DType::UInt16},
                              {"i4", DType::Int32},   {"u4", DType::UInt32},  {"i8", DType::Int64},
                              {"u8", DType::UInt64},  {"b1", DType::Bool}};

/// Reads the header's Python dict literal: {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : text_(text) {}

  Status read(NpyHeader& header) {
    bool descr = false, order = false, shape = false;
    if (!take('{')) return bad();
    while (!take('}')) {
      std::string_view key;
      if (!read_string(key) || !take(':')) return bad();
      if (key == "descr" && !descr) {
        descr = true;
        LQ_RETURN_IF_ERROR(read_descr(header));
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran_order = take_word("True");
        if (!header.fortran_order && !take_word("False")) return bad();
      } else if (key == "shape" && !shape) {
        shape = true;
        LQ_RETURN_IF_ERROR(read_shape(header.shape));
      } else {
        return bad();
      }
      if (!take(',') && !peek('}')) return bad();
    }
    skip_space();
    return descr && order && shape && pos_ == text_.size() ? Status() : bad();
  }

 private:
  static Status bad() { return corrupt("bad .npy header"); }
  void skip_space() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\n')) ++pos_;
  }
  bool peek(char c) {
    skip_space();
    return pos_ < text_.size() && text_[pos_] == c;
  }
  bool take(char c) { return peek(c) && ++pos_; }
  bool take_word(std::string_view word) {
    skip_space();
    if (text_.substr(pos_, word.size()) != word) return false;
    pos_ += word.size();
    return true;
  }
  bool read_string(std::string_view& out) {
    const char quote = peek('"') ? '"' : '\'';
    if (!take(quote)) return false;
    const size_t end = text_.find(quote, pos_);
    if (end == std::string_view::npos) return false;
    out = text_.substr(pos_, end - pos_);
    pos_ = end + 1;
    return true;
  }

  Status read_descr(NpyHeader& header) {
    std::string_view descr;
    if (!read_string(descr)) return unsupported("structured .npy arrays");
    const std::string shown(descr.substr(0, 16));
    if (descr.size() != 3) return unsupported(".npy type '" + shown + "'; save the array as float32");
    for (const TypeRow& row : kTypes) {
      if (descr.substr(1) != row.code) continue;
      if (descr[0] == '>' && row.code[1] != '1')
        return unsupported("big-endian .npy type '" + shown + "'; save it little-endian ('<')");
      header.dtype = row.dtype;
      return {};
    }
    return unsupported(".npy type '" + shown + "'; save the array as float32");
  }

  Status read_shape(Shape& shape) {
    if (!take('(')) return bad();
    while (!take(')')) {
      skip_space();
      int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0 || shape.size() >= 32) return bad();
      pos_ = size_t(end - text_.data());
      shape.push_back(value);
      if (!take(',') && !peek(')')) return bad();
    }
    return {};
  }

  std::string_view text_;
  size_t pos_ = 0;
};

/// Column-major to row-major, element by element: an odometer over the row-major index, the source offset kept by
/// strides.
void transpose_fortran(const uint8_t* source, uint8_t* target, const Shape& shape, size_t element) {
  const size_t rank = shape.size();
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (size_t a = 1; a < rank; ++a) stride[a] = stride[a - 1] * shape[a - 1];
  const int64_t count = element_count(shape);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target + size_t(i) * element, source + size_t(offset) * element, element);
    for (size_t a = rank; a-- > 0;) {
      offset += stride[a];
      if (++index[a] < shape[a]) break;
      offset -= stride[a] * shape[a];
      index[a] = 0;
    }
  }
}

void normalize_bools(HostTensor& tensor) {
  if (tensor.dtype != DType::Bool) return;
  for (uint8_t& b : tensor.data) b = b != 0;
}

}  // namespace

Result<NpyHeader> parse_npy_header(const uint8_t* data, size_t size) {
  if (size < 10 || std::memcmp(data, "\x93NUMPY", 6) != 0) return corrupt("not a .npy file");
  const int version = data[6];
  if (version < 1 || version > 3) return unsupported(".npy version " + std::to_string(version));
  const size_t prefix = version == 1 ? 10 : 12;
  if (size < prefix) return corrupt("truncated .npy header");
  size_t length = size_t(data[8]) | size_t(data[9]) << 8;
  if (version > 1) length |= size_t(data[10]) << 16 | size_t(data[11]) << 24;
  if (length > size - prefix) return corrupt("truncated .npy header");
  NpyHeader header;
  header.data_offset = prefix + length;
  LQ_RETURN_IF_ERROR(DictReader(std::string_view(reinterpret_cast<const char*>(data) + prefix, length)).read(header));
  const int64_t count = element_count(header.shape);
  if (count < 0 || count > kMaxTensorBytes / int64_t(dtype_size(header.dtype)))
    return corrupt("shape " + shape_string(header.shape) + " is too large");
  const size_t need = size_t(count) * dtype_size(header.dtype), have = size - header.data_offset;
  if (need > have) {
    return corrupt("truncated: shape " + shape_string(header.shape) + " needs " + std::to_string(need) +
                   " bytes, the file has " + std::to_string(have));
  }
  return header;
}

Result<HostTensor> decode_npy(const uint8_t* data, size_t size) {
  LQ_ASSIGN_OR_RETURN(const NpyHeader header, parse_npy_header(data, size));
  LQ_ASSIGN_OR_RETURN(HostTensor tensor, make_tensor(header.dtype, header.shape));
  const uint8_t* source = data + header.data_offset;
  if (header.fortran_order && header.shape.size() > 1) {
    transpose_fortran(source, tensor.data.data(), header.shape, dtype_size(header.dtype));
  } else if (!tensor.data.empty()) {
    std::memcpy(tensor.data.data(), source, tensor.data.size());
  }
  normalize_bools(tensor);
  return tensor;
}

Result<HostTensor> decode_npy_rows(const uint8_t* data, size_t size, int64_t first, int64_t count) {
  LQ_ASSIGN_OR_RETURN(const NpyHeader header, parse_npy_header(data, size));
  if (header.fortran_order) return unsupported("stacked samples in fortran_order; save with np.ascontiguousarray");
  if (header.shape.empty() || first < 0 || count < 0 || first > header.shape[0] - count)
    return invalid_argument("rows out of range");
  Shape shape = header.shape;
  shape[0] = count;
  LQ_ASSIGN_OR_RETURN(HostTensor tensor, make_tensor(header.dtype, shape));
  const size_t row_bytes = count == 0 ? 0 : tensor.data.size() / size_t(count);
  if (!tensor.data.empty())
    std::memcpy(tensor.data.data(), data + header.data_offset + size_t(first) * row_bytes, tensor.data.size());
  normalize_bools(tensor);
  return tensor;
}

Result<HostTensor> read_npy(const std::string& path) {
  LQ_ASSIGN_OR_RETURN(const Bytes bytes, map_file(path));
  auto tensor = decode_npy(bytes.data(), bytes.size());
  if (!tensor.ok()) return tensor.status().with_context(path);
  return tensor;
}

Status write_npy(const std::string& path, DType dtype, const Shape& shape, const void* data) {
  const TypeRow* type = nullptr;
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) type = &row;
  }
  const int64_t count = element_count(shape);
  if (type == nullptr || count < 0)
    return unsupported(path + ": .npy cannot hold " + dtype_name(dtype) + " of shape " + shape_string(shape));
  std::string dict = std::string("{'descr': '") + (type->code[1] == '1' ? '|' : '<') + type->code +
                     "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i) dict += (i ? ", " : "") + std::to_string(shape[i]);
  dict += shape.size() == 1 ? ",), }" : "), }";
  while ((10 + dict.size() + 1) % 64 != 0) dict += ' ';  // the format asks for aligned data
  dict += '\n';
  if (dict.size() > 0xFFFF) return unsupported(path + ": rank too high for .npy");
  std::string header = "\x93NUMPY";
  header += {'\x01', '\x00', char(dict.size() & 0xFF), char(dict.size() >> 8)};
  header += dict;
  return write_file_atomically(path, {{header.data(), header.size()}, {data, size_t(count) * dtype_size(dtype)}});
}

}  // namespace lq::calibration
