// What the tests of tasks share: a model quantized on a folder, float and INT8 side by side, and one way to tell
// figures.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibration/image.h"
#include "conformance/quantized_case.h"
#include "runtime/session.h"

namespace lq::conformance {

/// The float model and its INT8 form made with default options, ready to run.
struct TaskModels {
  std::unique_ptr<Session> in_float, in_int8;
};
/// `folder`: calibration data, at most `samples` of it (0: all). The case's shapes are those of the sessions; samples
/// may have others.
Result<TaskModels> quantize_for_task(const ModelCase& c, const std::string& folder, size_t samples,
                                     double max_drop = 0);

/// Puts the inputs (in the model's order, of the sizes the session has) in and runs.
Status run_floats(Session& session, const std::vector<std::vector<float>>& inputs);
std::vector<float> output_floats(const Session& session, size_t i);

/// Writes a float32 sample of a model with several inputs as FOLDER/INPUT/NAME.npy, with one input as FOLDER/NAME.npy.
Status write_sample(const std::filesystem::path& folder, const std::string& input, const std::string& name,
                    const Shape& shape, const std::vector<float>& values);

/// An image in other colors, resized, or cropped around its centre, as source/image does it.
calibration::Image in_color(const calibration::Image& image, schema::Color color);
calibration::Image resized(const calibration::Image& image, int width, int height);
calibration::Image cropped(const calibration::Image& image, int width, int height);
/// pixel·scale[c] + shift[c] of an image, channel planes one after the other.
std::vector<float> planes(const calibration::Image& image, const std::vector<float>& mean,
                          const std::vector<float>& deviation);

/// Names of the files of a folder, sorted; `count` of them, evenly spaced (0: all).
std::vector<std::string> files_of(const std::filesystem::path& folder, size_t count);

/// One row of the table in docs/ACCURACY.md: benchmark/accuracy_table.sh copies lines that begin with "task ".
void print_task(const std::string& task, const std::string& in_float, const std::string& in_int8,
                const std::string& wanted);
std::string text(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

}  // namespace lq::conformance
