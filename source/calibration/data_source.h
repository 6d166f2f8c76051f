// A folder of samples: lists it once, sorted, then loads any sample on demand from any thread. Nothing is kept in
// memory unless asked for.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibration/host_tensor.h"

namespace lq::calibration {

/// One input of the model. Shape: kUnknownDim where free; a fixed leading dimension lets stacked .npy files be split.
struct InputSpec {
  std::string name;
  DType dtype = DType::Float32;
  Shape shape;
  std::optional<schema::PreprocessingT> preprocessing;  // needed for images only
};

struct Sample {
  std::string name;                // relative to the folder, as in messages
  std::vector<HostTensor> inputs;  // in the order of the specs, of their dtypes, shapes static
};

struct SkippedSample {
  std::string name, reason;
};

/// One file -> one input: an image, .npy, .npz (the array named as the input; for an only input also a lone array of
/// any name) or TensorProto .pb, told by its extension. Converts the type, adds a missing batch axis of 1, checks the
/// shape. Errors start with the path.
Result<HostTensor> load_input_file(const std::string& path, const InputSpec& spec, bool only_input = true);

/// True for the extensions load_input_file knows.
bool is_sample_name(const std::string& name);

class DataSource {
 public:
  /// One input: every known file of the folder and its sub-folders. Several: one sub-folder per input name ('/', '\'
  /// and ':' of a name may be '_'), files matched by stem; or .npz files that hold all inputs. A .npy whose leading
  /// axis is a multiple of the input's fixed leading dimension counts as several samples. Samples are sorted by name,
  /// byte-wise; those named in `without` are left out, then max_samples > 0 picks that many, evenly spaced. Errors: no
  /// folder, no usable file, a missing sub-folder, a sample some input has no file for, two files of one stem.
  static Result<DataSource> open(const std::string& folder, std::vector<InputSpec> inputs, size_t max_samples = 0,
                                 const std::set<std::string>& without = {});
  /// The named files (relative to folder) for a model with one input, in the given order.
  static Result<DataSource> open_files(const std::string& folder, const std::vector<std::string>& files,
                                       InputSpec input);

  size_t size() const { return entries_.size(); }
  const std::string& name(size_t i) const { return entries_[i].name; }
  const std::string& folder() const { return folder_; }
  const std::vector<InputSpec>& inputs() const { return inputs_; }
  /// Files of the folder that are no samples by their extension (labels.tsv and hidden files not counted).
  const std::vector<SkippedSample>& ignored() const { return ignored_; }
  /// Thread-safe. An unreadable sample is an error here; the caller skips and reports it.
  Result<Sample> load(size_t i) const;
  /// From now on samples stay in memory once loaded, up to `most_bytes` in all: for few samples that are read often.
  void keep_loaded(size_t most_bytes);

 private:
  struct Entry {
    std::string name;
    std::vector<std::string> files;  // one per input; or a single .npz for all
    int64_t slice = -1;              // of a stacked .npy
  };
  struct Cache;
  Result<Sample> read(size_t i) const;
  Status list_single();
  Status list_multiple();
  void add_entry(std::string name, std::vector<std::string> files);
  void keep_evenly_spaced(size_t max_samples);

  std::string folder_;
  std::vector<InputSpec> inputs_;
  std::vector<Entry> entries_;
  std::vector<SkippedSample> ignored_;
  std::shared_ptr<Cache> cache_;  // of keep_loaded
};

}  // namespace lq::calibration
