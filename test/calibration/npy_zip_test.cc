#include <zlib.h>

#include <cstring>

#include "calibration/npy.h"
#include "calibration/zip.h"
#include "calibration_test_util.h"

namespace lq::calibration {

std::string make_zip(const std::vector<std::pair<std::string, std::string>>& members, bool deflate_members) {
  auto u16 = [](uint32_t v) { return std::string{char(v), char(v >> 8)}; };
  auto u32 = [&](uint32_t v) { return u16(v & 0xFFFF) + u16(v >> 16); };
  std::string out, directory;
  for (const auto& [name, data] : members) {
    std::string packed = data;
    if (deflate_members) {
      z_stream s{};
      deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
      packed.resize(deflateBound(&s, data.size()));
      s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data())), s.avail_in = uInt(data.size());
      s.next_out = reinterpret_cast<Bytef*>(packed.data()), s.avail_out = uInt(packed.size());
      deflate(&s, Z_FINISH);
      packed.resize(s.total_out);
      deflateEnd(&s);
    }
    const auto crc = uint32_t(crc32(0, reinterpret_cast<const Bytef*>(data.data()), uInt(data.size())));
    const std::string common = u16(20) + u16(0) + u16(deflate_members ? 8 : 0) + u32(0) + u32(crc) +
                               u32(uint32_t(packed.size())) + u32(uint32_t(data.size())) + u16(uint32_t(name.size()));
    directory += u32(0x02014b50) + u16(20) + common + u16(0) + u16(0) + u16(0) + u16(0) + u32(0) +
                 u32(uint32_t(out.size())) + name;
    out += u32(0x04034b50) + common + u16(0) + name + packed;
  }
  const auto at = uint32_t(out.size()), count = uint32_t(members.size());
  return out + directory + u32(0x06054b50) + u32(0) + u16(count) + u16(count) + u32(uint32_t(directory.size())) +
         u32(at) + u16(0);
}

namespace {

Result<HostTensor> decode(const std::string& file) { return decode_npy(bytes_of(file), file.size()); }

TEST(Npy, ReadsFloats) {
  auto t = decode(make_npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6.5f})));
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->dtype, DType::Float32);
  EXPECT_EQ(t->shape, (Shape{2, 3}));
  EXPECT_EQ(t->as<float>()[5], 6.5f);
}

TEST(Npy, FortranOrderIsTransposed) {
  // [[1, 2, 3], [4, 5, 6]] stored column by column
  auto t = decode(make_npy("<i4", "(2, 3)", raw<int32_t>({1, 4, 2, 5, 3, 6}), true));
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(std::vector<int32_t>(t->as<int32_t>(), t->as<int32_t>() + 6), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ScalarsVectorsBoolsAndEveryType) {
  auto scalar = decode(make_npy("<f8", "()", raw<double>({2.5})));
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(scalar->shape.empty());
  auto vector = decode(make_npy("|u1", "(3,)", "abc"));
  ASSERT_TRUE(vector.ok());
  EXPECT_EQ(vector->shape, (Shape{3}));
  auto bools = decode(make_npy("|b1", "(3,)", std::string("\x00\x01\x07", 3)));
  ASSERT_TRUE(bools.ok());
  EXPECT_EQ(bools->data, (std::vector<uint8_t>{0, 1, 1}));
  auto empty = decode(make_npy("<f4", "(0, 4)", ""));
  ASSERT_TRUE(empty.ok());
  for (const char* type : {"|i1", "<i2", "<i4", "<i8", "<f4", "<f8"})
    EXPECT_TRUE(decode(make_npy(type, "(1,)", std::string(8, '\0'))).ok()) << type;
}

TEST(Npy, RefusesWithAReason) {
  const struct {
    const char *descr, *shape, *word;
  } cases[] = {{">f4", "(1,)", "big-endian"},
               {"<f2", "(1,)", "<f2"},
               {"<c8", "(1,)", "<c8"},
               {"|O", "(1,)", "|O"},
               {"<f4", "(100,)", "truncated"},
               {"<f4", "(4294967296, 4294967296, 4294967296)", "too large"},
               {"<f4", "(-1,)", "header"},
               {"<f4", "1", "header"},
               {"<f4", "(99999999999999999999,)", "header"}};
  for (const auto& c : cases) {
    auto t = decode(make_npy(c.descr, c.shape, std::string(64, '\0')));
    ASSERT_FALSE(t.ok()) << c.descr << c.shape;
    EXPECT_NE(t.status().message().find(c.word), std::string::npos) << t.status().message();
  }
}

TEST(Npy, TruncatedAndDamagedHeadersNeverCrash) {
  const std::string whole = make_npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6}));
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(decode_npy(bytes_of(whole), n).ok()) << n;
  for (size_t i = 0; i < whole.size() - 24; ++i) {
    for (char v : {'\0', '(', ')', ',', '9', '\'', '\xFF'}) {
      std::string bad = whole;
      bad[i] = v;
      auto t = decode(bad);
      if (!t.ok()) continue;
      EXPECT_EQ(int64_t(t->data.size()), element_count(t->shape) * int64_t(dtype_size(t->dtype)));
    }
  }
}

TEST(Npy, RowsAndWriting) {
  TempFolder folder;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(write_npy(folder / "a.npy", DType::Float32, {3, 2}, values.data()).ok());
  const std::string file = read_file(folder / "a.npy");
  EXPECT_EQ(file, make_npy("<f4", "(3, 2)", raw(values)));
  auto rows = decode_npy_rows(bytes_of(file), file.size(), 1, 2);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->shape, (Shape{2, 2}));
  EXPECT_EQ(rows->as<float>()[0], 3);
  EXPECT_FALSE(decode_npy_rows(bytes_of(file), file.size(), 2, 2).ok());
  const int8_t one = 1;
  ASSERT_TRUE(write_npy(folder / "s.npy", DType::Int8, {1}, &one).ok());
  EXPECT_EQ(read_file(folder / "s.npy"), make_npy("|i1", "(1,)", "\x01"));
  EXPECT_FALSE(write_npy(folder / "h.npy", DType::Float16, {1}, &one).ok());
}

TEST(Zip, StoredAndDeflatedMembers) {
  const std::string text(10000, 'x');
  for (bool packed : {false, true}) {
    const std::string zip = make_zip({{"a.npy", "hello"}, {"b", text}, {"empty", ""}}, packed);
    auto entries = list_zip(bytes_of(zip), zip.size());
    ASSERT_TRUE(entries.ok()) << entries.status().message();
    ASSERT_EQ(entries->size(), 3u);
    EXPECT_EQ((*entries)[0].name, "a.npy");
    for (size_t i = 0; i < 3; ++i) {
      auto data = read_zip_entry(bytes_of(zip), zip.size(), (*entries)[i]);
      ASSERT_TRUE(data.ok()) << data.status().message();
      EXPECT_EQ(std::string(data->begin(), data->end()), i == 0 ? "hello" : i == 1 ? text : "");
    }
  }
}

TEST(Zip, DamageIsFound) {
  const std::string zip = make_zip({{"a.npy", std::string(100, 'q') + "hello"}}, true);
  for (size_t n = 0; n < zip.size(); ++n) EXPECT_FALSE(list_zip(bytes_of(zip), n).ok()) << n;
  for (size_t i = 0; i < zip.size(); ++i) {
    for (int v : {0, 0x40, 0xFF}) {
      std::string bad = zip;
      bad[i] ^= char(v ? v : 1);
      auto entries = list_zip(bytes_of(bad), bad.size());
      if (!entries.ok() || entries->empty()) continue;
      auto data = read_zip_entry(bytes_of(bad), bad.size(), entries->front());
      if (!data.ok()) continue;
      EXPECT_EQ(std::string(data->begin(), data->end()), std::string(100, 'q') + "hello");
    }
  }
}

TEST(Zip, ForgedSizeTakesNoMemory) {
  std::string zip = make_zip({{"a.npy", "hello"}}, true);
  const size_t central = zip.find("PK\x01\x02");
  std::memcpy(zip.data() + central + 24, "\xFE\xFF\xFF\xFF", 4);  // uncompressed size: almost 4 GB
  auto entries = list_zip(bytes_of(zip), zip.size());
  ASSERT_TRUE(entries.ok());
  EXPECT_FALSE(read_zip_entry(bytes_of(zip), zip.size(), entries->front()).ok());
}

TEST(HostTensor, Conversions) {
  auto make = [](DType dtype, const auto& values) {
    HostTensor t{dtype, {int64_t(values.size())}, {}};
    t.data.assign(reinterpret_cast<const uint8_t*>(values.data()),
                  reinterpret_cast<const uint8_t*>(values.data() + values.size()));
    return t;
  };
  auto f = convert_tensor(make(DType::Float64, std::vector<double>{0.1, -2}), DType::Float32);
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(f->as<float>()[0], 0.1f);
  auto i = convert_tensor(make(DType::Int64, std::vector<int64_t>{-128, 127}), DType::Int8);
  ASSERT_TRUE(i.ok());
  EXPECT_EQ(i->as<int8_t>()[0], -128);
  EXPECT_FALSE(convert_tensor(make(DType::Int64, std::vector<int64_t>{128}), DType::Int8).ok());
  EXPECT_FALSE(convert_tensor(make(DType::Int32, std::vector<int32_t>{-1}), DType::UInt8).ok());
  EXPECT_FALSE(convert_tensor(make(DType::Float32, std::vector<float>{1}), DType::Int64).ok());
  EXPECT_FALSE(convert_tensor(make(DType::Int32, std::vector<int32_t>{2}), DType::Bool).ok());
  auto b = convert_tensor(make(DType::UInt8, std::vector<uint8_t>{255}), DType::Float32);
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->as<float>()[0], 255.0f);
}

}  // namespace
}  // namespace lq::calibration
