// A model that uses everything a file can hold, and ways to open, change and close its bytes again.
#pragma once
#include <functional>
#include <string>

#include "format/model_file.h"

namespace lq::test {

/// Every attribute table, per-tensor and per-channel parameters, ranges, symbols, equal constants, If with two
/// branches, preprocessing, golden and metadata. Passes verify(); not meant to run.
ModelIr sample_model();

/// The same graph but for the numbers of tensors, the places of Quantize and Dequantize nodes and the names of what
/// they make.
void expect_same(const Graph& a, const Graph& b);

/// The header of a file's bytes; sealed() writes one back, its checksum computed anew.
FileHeader header_of(const std::string& file);
std::string with_header(std::string file, FileHeader header);

/// The file with its graph changed by `change`, everything else kept and every checksum right again.
std::string with_graph(const std::string& file, const std::function<void(schema::ModelT&)>& change);

/// The file with these bytes as its graph.
std::string with_graph_bytes(const std::string& file, const uint8_t* graph, size_t size);

std::string bytes_of(const ModelIr& model);  // serialize_model as a string; fails the test if that fails
Result<ModelIr> read_string(const std::string& file);

}  // namespace lq::test
