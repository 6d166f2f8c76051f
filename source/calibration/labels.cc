#include "calibration/labels.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/file.h"
#include "calibration/data_source.h"

namespace lq::calibration {
namespace {

namespace fs = std::filesystem;

bool parse_index(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

void sort_by_file(Labels& labels) {
  std::sort(labels.files.begin(), labels.files.end(),
            [](const LabeledFile& a, const LabeledFile& b) { return a.file < b.file; });
}

Result<Labels> read_tsv(const std::string& folder, const std::string& path) {
  LQ_ASSIGN_OR_RETURN(const Bytes bytes, map_file(path));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Labels labels;
  std::set<std::string> seen;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    const std::string where = path + " line " + std::to_string(line_number);
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos || tab == 0) return corrupt(where + ": expected 'file<tab>class index'");
    LabeledFile entry{std::string(line.substr(0, tab)), 0};
    std::string_view label = line.substr(tab + 1);
    label = label.substr(0, label.find('\t'));
    if (!parse_index(label, entry.label)) return corrupt(where + ": '" + std::string(label) + "' is not a class index");
    std::error_code error;
    if (!fs::is_regular_file(fs::path(folder) / entry.file, error))
      return not_found(where + ": no such file '" + entry.file + "' in " + folder);
    if (!seen.insert(entry.file).second) return corrupt(where + ": '" + entry.file + "' occurs twice");
    labels.files.push_back(std::move(entry));
  }
  if (labels.files.empty()) return invalid_argument(path + ": no labels in it");
  sort_by_file(labels);
  return labels;
}

Status add_class(const std::string& folder, const std::string& name, int64_t label, Labels& labels) {
  std::error_code error;
  for (fs::directory_iterator it(fs::path(folder) / name, error), end; !error && it != end; it.increment(error)) {
    const std::string file = it->path().filename().string();
    std::error_code ignored;
    if (file.starts_with(".") || !is_sample_name(file) || !it->is_regular_file(ignored)) continue;
    labels.files.push_back({name + "/" + file, label});
  }
  return error ? io_error(folder + "/" + name + ": cannot be listed: " + error.message()) : Status();
}

Result<Labels> read_sub_folders(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> classes;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(".") && it->is_directory(ignored)) classes.push_back(name);
  }
  if (error) return io_error(folder + ": cannot be listed: " + error.message());
  if (classes.empty())
    return not_found(folder + ": neither labels.tsv nor one sub-folder per class; give --labels FILE");
  std::sort(classes.begin(), classes.end());
  int64_t number = 0;
  const bool numbers = std::all_of(classes.begin(), classes.end(),
                                   [&](const std::string& n) { return parse_index(n, number) && number < (1 << 24); });
  Labels labels;
  for (size_t i = 0; i < classes.size(); ++i) {
    int64_t label = int64_t(i);
    if (numbers) parse_index(classes[i], label);
    if (labels.class_names.size() <= size_t(label)) labels.class_names.resize(size_t(label) + 1);
    labels.class_names[size_t(label)] = classes[i];
    LQ_RETURN_IF_ERROR(add_class(folder, classes[i], label, labels));
  }
  if (labels.files.empty()) return invalid_argument(folder + ": no usable file in its class sub-folders");
  sort_by_file(labels);
  return labels;
}

}  // namespace

Result<Labels> read_labels(const std::string& folder, const std::string& labels_file) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return not_found(folder + ": no such folder");
  if (!labels_file.empty()) return read_tsv(folder, labels_file);
  const std::string standard = folder + "/labels.tsv";
  return fs::is_regular_file(standard, error) ? read_tsv(folder, standard) : read_sub_folders(folder);
}

}  // namespace lq::calibration
