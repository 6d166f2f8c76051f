// Labels of an evaluation folder.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace lq::calibration {

struct LabeledFile {
  std::string file;   // relative to the folder
  int64_t label = 0;  // class index
};

struct Labels {
  std::vector<LabeledFile> files;        // sorted by file, byte-wise
  std::vector<std::string> class_names;  // by class index, sub-folder form only
};

/// From `labels_file`, or, when that is empty, labels.tsv in the folder, or, without one, one sub-folder per class:
/// classes are the sub-folders sorted by name, or, if all names are numbers, those numbers. The .tsv form: "file <tab>
/// class index [<tab> anything]" a line; empty lines and lines that begin with '#' are skipped. Errors name the line:
/// no tab, a label that is no number, a file twice or one that does not exist.
Result<Labels> read_labels(const std::string& folder, const std::string& labels_file = "");

}  // namespace lq::calibration
