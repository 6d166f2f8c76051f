#include "calibration/data_source.h"

#include "calibration/labels.h"
#include "calibration_test_util.h"

namespace lq::calibration {
namespace {

InputSpec spec(const std::string& name, Shape shape, DType dtype = DType::Float32) {
  return {name, dtype, std::move(shape), std::nullopt};
}
std::string floats(const std::string& shape, const std::vector<float>& v) { return make_npy("<f4", shape, raw(v)); }

std::vector<std::string> names_of(const DataSource& source) {
  std::vector<std::string> names;
  for (size_t i = 0; i < source.size(); ++i) names.push_back(source.name(i));
  return names;
}

TEST(DataSource, SortedRecursiveAndIgnoringOthers) {
  TempFolder folder;
  for (const char* f : {"b.npy", "a.npy", "B.npy", "class1/c.npy", "a10.npy", "a2.npy"})
    folder.write(f, floats("(2,)", {1, 2}));
  folder.write("notes.txt", "x");
  folder.write(".hidden.npy", "x");
  folder.write("labels.tsv", "x");
  for (const std::string& path : {folder.path(), folder.path() + "/"}) {
    auto source = DataSource::open(path, {spec("x", {1, 2})});
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_EQ(names_of(*source),
              (std::vector<std::string>{"B.npy", "a.npy", "a10.npy", "a2.npy", "b.npy", "class1/c.npy"}));
    ASSERT_EQ(source->ignored().size(), 1u);
    EXPECT_EQ(source->ignored()[0].name, "notes.txt");
  }
}

TEST(DataSource, MaxSamplesEvenlySpaced) {
  TempFolder folder;
  for (int i = 0; i < 10; ++i) folder.write(std::string(1, char('a' + i)) + ".npy", floats("(1,)", {float(i)}));
  auto source = DataSource::open(folder.path(), {spec("x", {1, 1})}, 4);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(names_of(*source),
            (std::vector<std::string>{"a.npy", "c.npy", "f.npy", "h.npy"}));  // floor(i·10/4): 0 2 5 7
}

TEST(DataSource, FolderErrors) {
  TempFolder folder;
  auto missing = DataSource::open(folder / "none", {spec("x", {1})});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().message().find("no such folder"), std::string::npos);
  auto empty = DataSource::open(folder.path(), {spec("x", {1})});
  ASSERT_FALSE(empty.ok());
  EXPECT_NE(empty.status().message().find("empty"), std::string::npos);
  folder.write("readme.txt", "x");
  auto none = DataSource::open(folder.path(), {spec("x", {1})});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("no usable file"), std::string::npos);
  EXPECT_FALSE(DataSource::open(folder / "readme.txt", {spec("x", {1})}).ok());
}

TEST(DataSource, SeveralInputsMatchByStem) {
  TempFolder folder;
  folder.write("a/s1.npy", floats("(1, 2)", {1, 2}));
  folder.write("a/s2.npy", floats("(1, 2)", {3, 4}));
  folder.write("b_0/s1.npy", make_npy("<i4", "(1,)", raw<int32_t>({7})));
  const std::vector<InputSpec> specs{spec("a", {1, 2}), spec("b:0", {1}, DType::Int64)};
  auto missing = DataSource::open(folder.path(), specs);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().message().find("'s2'"), std::string::npos) << missing.status().message();
  EXPECT_NE(missing.status().message().find("'b:0'"), std::string::npos);
  folder.write("b_0/s2.npy", make_npy("<i4", "(1,)", raw<int32_t>({8})));
  auto source = DataSource::open(folder.path(), specs);
  ASSERT_TRUE(source.ok()) << source.status().message();
  ASSERT_EQ(source->size(), 2u);
  auto sample = source->load(1);
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  EXPECT_EQ(sample->inputs[0].as<float>()[1], 4);
  EXPECT_EQ(sample->inputs[1].dtype, DType::Int64);
  EXPECT_EQ(sample->inputs[1].as<int64_t>()[0], 8);
  folder.write("b_0/s2.npz", "x");
  EXPECT_FALSE(DataSource::open(folder.path(), specs).ok()) << "two files of one stem";
  auto absent = DataSource::open(folder.path(), {spec("a", {1, 2}), spec("c", {1})});
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.status().message().find("'c'"), std::string::npos);
}

TEST(DataSource, NpzHoldsAllInputs) {
  TempFolder folder;
  folder.write("s.npz", make_zip({{"b.npy", floats("(1, 1)", {5})}, {"a.npy", floats("(1, 2)", {1, 2})}}, true));
  auto source = DataSource::open(folder.path(), {spec("a", {1, 2}), spec("b", {1, 1})});
  ASSERT_TRUE(source.ok()) << source.status().message();
  auto sample = source->load(0);
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  EXPECT_EQ(sample->inputs[0].as<float>()[1], 2);
  EXPECT_EQ(sample->inputs[1].as<float>()[0], 5);
  folder.write("t.npz", make_zip({{"a.npy", floats("(1, 2)", {1, 2})}}, false));
  auto again = DataSource::open(folder.path(), {spec("a", {1, 2}), spec("b", {1, 1})});
  ASSERT_TRUE(again.ok());
  auto lacking = again->load(1);
  ASSERT_FALSE(lacking.ok());
  EXPECT_NE(lacking.status().message().find("'b'"), std::string::npos);
}

TEST(DataSource, LoneArrayOfAnyNameServesAnOnlyInput) {
  TempFolder folder;
  folder.write("s.npz", make_zip({{"arr_0.npy", floats("(2,)", {1, 2})}}, true));
  auto source = DataSource::open(folder.path(), {spec("x", {1, 2})});
  ASSERT_TRUE(source.ok());
  auto sample = source->load(0);
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  EXPECT_EQ(sample->inputs[0].shape, (Shape{1, 2}));
}

TEST(DataSource, StackedNpyIsSeveralSamples) {
  TempFolder folder;
  folder.write("all.npy", floats("(3, 2)", {1, 2, 3, 4, 5, 6}));
  auto source = DataSource::open(folder.path(), {spec("x", {1, 2})});
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(names_of(*source), (std::vector<std::string>{"all.npy[0]", "all.npy[1]", "all.npy[2]"}));
  auto sample = source->load(2);
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  EXPECT_EQ(sample->inputs[0].shape, (Shape{1, 2}));
  EXPECT_EQ(sample->inputs[0].as<float>()[0], 5);
  auto free_batch = DataSource::open(folder.path(), {spec("x", {-1, 2})});
  ASSERT_TRUE(free_batch.ok());
  EXPECT_EQ(free_batch->size(), 1u);
}

TEST(DataSource, ShapesOfOtherRanksAndChannels) {
  TempFolder folder;
  folder.write("a.npy", floats("(1, 1000, 6)", std::vector<float>(6000, 1.0f)));
  auto source = DataSource::open(folder.path(), {spec("x", {1, 1000, 6})});
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE(source->load(0).ok());
  auto other = DataSource::open(folder.path(), {spec("x", {1, 1000, 5})});
  ASSERT_TRUE(other.ok());
  auto bad = other->load(0);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().message().find("a.npy"), std::string::npos);
  EXPECT_NE(bad.status().message().find("[1,1000,6]"), std::string::npos) << bad.status().message();
}

TEST(DataSource, AnImageNeedsPreprocessing) {
  TempFolder folder;
  folder.write("a.ppm", "P3 1 1 255 1 2 3");
  auto source = DataSource::open(folder.path(), {spec("x", {1, 3, 1, 1})});
  ASSERT_TRUE(source.ok());
  EXPECT_FALSE(source->load(0).ok());
  InputSpec with = spec("x", {1, 3, 1, 1});
  with.preprocessing.emplace();
  with.preprocessing->mean = {0, 0, 0}, with.preprocessing->std = {1, 1, 1};
  source = DataSource::open(folder.path(), {with});
  ASSERT_TRUE(source.ok());
  auto sample = source->load(0);
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  EXPECT_EQ(sample->inputs[0].as<float>()[2], 3);
}

TEST(Labels, TsvFile) {
  TempFolder folder;
  for (const char* f : {"b.png", "a.png", "sub/c.png"}) folder.write(f, "x");
  folder.write("labels.tsv", "# file\tclass\nb.png\t7\r\n\na.png\t3\tname\nsub/c.png\t0");
  auto labels = read_labels(folder.path());
  ASSERT_TRUE(labels.ok()) << labels.status().message();
  ASSERT_EQ(labels->files.size(), 3u);
  EXPECT_EQ(labels->files[0].file, "a.png");
  EXPECT_EQ(labels->files[0].label, 3);
  EXPECT_EQ(labels->files[1].label, 7);
  const struct {
    const char *text, *word;
  } bad[] = {{"a.png 3\n", "line 1"}, {"a.png\tx\n", "'x'"},
             {"a.png\t-1\n", "'-1'"}, {"\na.png\t1\na.png\t2\n", "line 3"},
             {"z.png\t1\n", "z.png"}, {"", "no labels"}};
  for (const auto& b : bad) {
    folder.write("labels.tsv", b.text);
    auto r = read_labels(folder.path());
    ASSERT_FALSE(r.ok()) << b.text;
    EXPECT_NE(r.status().message().find(b.word), std::string::npos) << r.status().message();
  }
  folder.write("mine.txt", "a.png\t9\n");
  auto given = read_labels(folder.path(), folder / "mine.txt");
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given->files[0].label, 9);
}

TEST(Labels, SubFolders) {
  TempFolder folder;
  for (const char* f : {"dog/2.png", "cat/1.png", "cat/0.jpg", "cat/readme.md"}) folder.write(f, "x");
  auto labels = read_labels(folder.path());
  ASSERT_TRUE(labels.ok()) << labels.status().message();
  ASSERT_EQ(labels->files.size(), 3u);
  EXPECT_EQ(labels->files[0].file, "cat/0.jpg");
  EXPECT_EQ(labels->files[2].label, 1);
  EXPECT_EQ(labels->class_names, (std::vector<std::string>{"cat", "dog"}));
  TempFolder numbers;
  for (const char* f : {"10/a.png", "2/b.png"}) numbers.write(f, "x");
  auto by_number = read_labels(numbers.path());
  ASSERT_TRUE(by_number.ok());
  EXPECT_EQ(by_number->files[0].label, 10);
  EXPECT_EQ(by_number->files[1].label, 2);
  TempFolder empty;
  EXPECT_FALSE(read_labels(empty.path()).ok());
}

}  // namespace
}  // namespace lq::calibration
