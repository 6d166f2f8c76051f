#include "conformance/text_lines.h"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace lq::conformance {
namespace {

constexpr float kOverThreshold = 0.3f, kLeastMean = 0.6f;
constexpr double kGrow = 1.5;
constexpr int kLeastSide = 3;

struct Region {
  TextBox box;
  double sum = 0;
  size_t pixels = 0;
};

/// The region of `start` in the map, 8-connected; its pixels are marked in `seen`.
Region region_at(const std::vector<float>& map, int width, int height, size_t start, std::vector<bool>& seen) {
  Region region{{width, height, 0, 0}};
  std::vector<size_t> stack = {start};
  seen[start] = true;
  while (!stack.empty()) {
    const int x = int(stack.back() % size_t(width)), y = int(stack.back() / size_t(width));
    region.sum += double(map[stack.back()]);
    ++region.pixels;
    stack.pop_back();
    region.box = {std::min(region.box.x1, x), std::min(region.box.y1, y), std::max(region.box.x2, x + 1),
                  std::max(region.box.y2, y + 1)};
    for (int v = std::max(y - 1, 0); v <= std::min(y + 1, height - 1); ++v) {
      for (int u = std::max(x - 1, 0); u <= std::min(x + 1, width - 1); ++u) {
        const size_t next = size_t(v) * size_t(width) + size_t(u);
        if (seen[next] || map[next] <= kOverThreshold) continue;
        seen[next] = true;
        stack.push_back(next);
      }
    }
  }
  return region;
}

TextBox grown(const TextBox& b, int width, int height) {
  const double w = b.x2 - b.x1, h = b.y2 - b.y1;
  const int by = int(std::nearbyint(w * h * kGrow / (2 * (w + h))));
  return {std::max(b.x1 - by, 0), std::max(b.y1 - by, 0), std::min(b.x2 + by, width), std::min(b.y2 + by, height)};
}

}  // namespace

std::vector<TextBox> find_text(const std::vector<float>& probability, int width, int height) {
  std::vector<bool> seen(probability.size(), false);
  std::vector<TextBox> boxes;
  for (size_t i = 0; i < probability.size(); ++i) {
    if (seen[i] || probability[i] <= kOverThreshold) continue;
    const Region region = region_at(probability, width, height, i, seen);
    const TextBox& b = region.box;
    if (std::min(b.x2 - b.x1, b.y2 - b.y1) < kLeastSide || region.sum / double(region.pixels) <= double(kLeastMean))
      continue;
    boxes.push_back(grown(b, width, height));
  }
  std::stable_sort(boxes.begin(), boxes.end(), [](const TextBox& a, const TextBox& b) { return a.y1 < b.y1; });
  return boxes;
}

std::string read_text(const std::vector<float>& scores, size_t classes, const std::vector<std::string>& keys) {
  std::string text;
  size_t last = 0;
  for (size_t t = 0; t + classes <= scores.size(); t += classes) {
    const auto row = scores.begin() + std::ptrdiff_t(t);
    const auto best = size_t(std::max_element(row, row + std::ptrdiff_t(classes)) - row);
    if (best != last && best != 0) text += best <= keys.size() ? keys[best - 1] : " ";
    last = best;
  }
  return text;
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

Result<std::vector<std::string>> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) return invalid_argument(path + ": cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

}  // namespace lq::conformance
