#include "calibration/data_source.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "base/file.h"
#include "calibration/input_file.h"
#include "calibration/npy.h"

namespace lq::calibration {
namespace {

namespace fs = std::filesystem;

/// Relative paths of all regular files below `folder`, sorted byte-wise; hidden files and folders are left out.
Result<std::vector<std::string>> list_files(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  fs::recursive_directory_iterator it(folder, error), end;
  while (!error && it != end) {
    const bool hidden = it->path().filename().string().starts_with(".");
    if (hidden) it.disable_recursion_pending();
    std::error_code ignored;
    if (!hidden && it->is_regular_file(ignored))
      files.push_back(it->path().lexically_relative(folder).generic_string());
    it.increment(error);
  }
  if (error) return io_error(folder + ": cannot be listed: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

Status check_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return not_found(folder + ": no such folder");
  if (!fs::is_directory(folder, error)) return invalid_argument(folder + ": not a folder");
  return {};
}

std::string stem_of(const std::string& file) { return file.substr(0, file.size() - extension_of(file).size()); }

/// How many samples a .npy stacks for this input; 1 when it is one, or when it cannot be told (load reports why).
int64_t stacked_samples(const std::string& path, const InputSpec& spec) {
  if (extension_of(path) != ".npy" || spec.shape.empty() || spec.shape[0] <= 0) return 1;
  auto bytes = map_file(path);
  if (!bytes.ok()) return 1;
  auto header = parse_npy_header(bytes->data(), bytes->size());
  if (!header.ok() || header->shape.size() != spec.shape.size()) return 1;
  const int64_t rows = header->shape[0], batch = spec.shape[0];
  return rows > batch && rows % batch == 0 ? rows / batch : 1;
}

}  // namespace

void DataSource::add_entry(std::string name, std::vector<std::string> files) {
  int64_t slices = 1;
  for (size_t i = 0; i < files.size() && files.size() == inputs_.size(); ++i) {
    const int64_t n = stacked_samples(folder_ + "/" + files[i], inputs_[i]);
    if (i > 0 && n != slices) {
      slices = 1;
      break;
    }  // they do not agree: load says which shape does not fit
    slices = n;
  }
  if (slices == 1) {
    entries_.push_back({std::move(name), std::move(files), -1});
    return;
  }
  for (int64_t s = 0; s < slices; ++s) entries_.push_back({name + "[" + std::to_string(s) + "]", files, s});
}

Status DataSource::list_single() {
  LQ_ASSIGN_OR_RETURN(const std::vector<std::string> files, list_files(folder_));
  for (const std::string& file : files) {
    if (is_sample_name(file))
      add_entry(file, {file});
    else if (fs::path(file).filename() != "labels.tsv")
      ignored_.push_back({file, "not an image, .npy, .npz or .pb file"});
  }
  if (files.empty())
    return invalid_argument(folder_ + ": the folder is empty; put images, .npy, .npz or .pb samples there");
  if (entries_.empty())
    return invalid_argument(folder_ + ": no usable file: none of its " + std::to_string(files.size()) +
                            " files is an image, .npy, .npz or .pb");
  return {};
}

Status DataSource::list_multiple() {
  std::vector<std::map<std::string, std::string>> by_stem(
      inputs_.size());  // for each input: stem -> file relative to folder_
  std::vector<std::string> folders;
  std::set<std::string> stems;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::error_code error;
    std::string sub = inputs_[i].name;
    if (sub.empty() || sub.find("..") != std::string::npos || !fs::is_directory(folder_ + "/" + sub, error))
      sub = folder_name_of_input(sub);
    if (!fs::is_directory(folder_ + "/" + sub, error)) {
      return not_found(folder_ + ": the model has " + std::to_string(inputs_.size()) + " inputs; sub-folder '" + sub +
                       "' for input '" + inputs_[i].name + "' is missing (or give .npz files that hold all inputs)");
    }
    LQ_ASSIGN_OR_RETURN(const std::vector<std::string> files, list_files(folder_ + "/" + sub));
    for (const std::string& file : files) {
      if (!is_sample_name(file)) {
        ignored_.push_back({sub + "/" + file, "not an image, .npy, .npz or .pb file"});
        continue;
      }
      const auto [at, fresh] = by_stem[i].emplace(stem_of(file), sub + "/" + file);
      if (!fresh)
        return invalid_argument(folder_ + ": '" + at->second + "' and '" + sub + "/" + file +
                                "' are the same sample; remove one");
      stems.insert(stem_of(file));
    }
    folders.push_back(sub);
  }
  if (stems.empty()) return invalid_argument(folder_ + ": no usable file in the sub-folders of the model's inputs");
  for (const std::string& stem : stems) {
    std::vector<std::string> files;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto at = by_stem[i].find(stem);
      if (at == by_stem[i].end()) {
        return not_found(folder_ + "/" + folders[i] + ": no file for sample '" + stem + "', which input '" +
                         inputs_[i].name + "' needs");
      }
      files.push_back(at->second);
    }
    add_entry(stem, std::move(files));
  }
  return {};
}

void DataSource::keep_evenly_spaced(size_t max_samples) {
  const size_t n = entries_.size();
  if (max_samples == 0 || max_samples >= n) return;
  std::vector<Entry> kept;
  for (size_t i = 0; i < max_samples; ++i) kept.push_back(entries_[size_t(uint64_t(i) * n / max_samples)]);
  entries_ = std::move(kept);
}

Result<DataSource> DataSource::open(const std::string& folder, std::vector<InputSpec> inputs, size_t max_samples,
                                    const std::set<std::string>& without) {
  DataSource source;
  source.folder_ = folder, source.inputs_ = std::move(inputs);
  LQ_RETURN_IF_ERROR(check_folder(folder));
  if (source.inputs_.empty()) return invalid_argument("the model has no input to calibrate");
  if (source.inputs_.size() == 1) {
    LQ_RETURN_IF_ERROR(source.list_single());
  } else {
    // .npz files directly in the folder hold all inputs; sub-folders are looked at only without them.
    LQ_ASSIGN_OR_RETURN(const std::vector<std::string> files, list_files(folder));
    for (const std::string& file : files) {
      if (extension_of(file) == ".npz" && file.find('/') == std::string::npos)
        source.entries_.push_back({file, {file}, -1});
    }
    if (source.entries_.empty()) LQ_RETURN_IF_ERROR(source.list_multiple());
  }
  std::erase_if(source.entries_, [&](const Entry& entry) { return without.count(entry.name) != 0; });
  source.keep_evenly_spaced(max_samples);
  return source;
}

Result<DataSource> DataSource::open_files(const std::string& folder, const std::vector<std::string>& files,
                                          InputSpec input) {
  DataSource source;
  source.folder_ = folder, source.inputs_ = {std::move(input)};
  LQ_RETURN_IF_ERROR(check_folder(folder));
  if (files.empty()) return invalid_argument(folder + ": no samples");
  for (const std::string& file : files) source.entries_.push_back({file, {file}, -1});
  return source;
}

struct DataSource::Cache {
  std::mutex mutex;
  size_t free_bytes = 0;
  std::vector<std::shared_ptr<const Sample>> samples;  // by index; null: not kept
};

void DataSource::keep_loaded(size_t most_bytes) {
  cache_ = std::make_shared<Cache>();
  cache_->free_bytes = most_bytes;
  cache_->samples.resize(size());
}

Result<Sample> DataSource::load(size_t i) const {
  if (!cache_) return read(i);
  std::shared_ptr<const Sample> kept;
  {
    const std::lock_guard<std::mutex> lock(cache_->mutex);
    kept = cache_->samples[i];
  }
  if (kept) return *kept;
  LQ_ASSIGN_OR_RETURN(Sample sample, read(i));
  size_t bytes = 0;
  for (const HostTensor& t : sample.inputs) bytes += t.data.size();
  const std::lock_guard<std::mutex> lock(cache_->mutex);
  if (!cache_->samples[i] && bytes <= cache_->free_bytes) {
    cache_->free_bytes -= bytes;
    cache_->samples[i] = std::make_shared<const Sample>(sample);
  }
  return sample;
}

Result<Sample> DataSource::read(size_t i) const {
  const Entry& entry = entries_[i];
  Sample sample{entry.name, {}};
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const std::string path = folder_ + "/" + entry.files[entry.files.size() == 1 ? 0 : k];
    if (entry.slice < 0) {
      LQ_ASSIGN_OR_RETURN(HostTensor tensor, load_input_file(path, inputs_[k], inputs_.size() == 1));
      sample.inputs.push_back(std::move(tensor));
      continue;
    }
    LQ_ASSIGN_OR_RETURN(const Bytes bytes, map_file(path));
    const int64_t batch = inputs_[k].shape[0];
    auto rows = decode_npy_rows(bytes.data(), bytes.size(), entry.slice * batch, batch);
    if (!rows.ok()) return rows.status().with_context(path);
    auto fitted = fit_to_input(std::move(*rows), inputs_[k]);
    if (!fitted.ok()) return fitted.status().with_context(path);
    sample.inputs.push_back(std::move(*fitted));
  }
  return sample;
}

}  // namespace lq::calibration
