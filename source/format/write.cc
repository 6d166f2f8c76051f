#include <cstring>

#include "base/file.h"
#include "format/checksum.h"
#include "format/model_file.h"
#include "format/pack.h"

namespace lq {

Result<Bytes> serialize_model(const ModelIr& model) {
  LQ_RETURN_IF_ERROR(verify(model));
  WeightSection weights;
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  pack_model(model, builder, weights);

  FileHeader header{};
  header.header_size = sizeof(FileHeader);
  std::memcpy(header.identifier, "LQM1", 4);
  header.graph_offset = sizeof(FileHeader);
  header.graph_size = builder.GetSize();
  header.graph_checksum = checksum64(builder.GetBufferPointer(), builder.GetSize());
  header.weights_offset = align_up(header.graph_offset + header.graph_size);
  header.weights_size = weights.size();

  LQ_ASSIGN_OR_RETURN(Buffer file, Buffer::allocate(header.weights_offset + header.weights_size, "the model file"));
  std::memset(file.data(), 0, file.size());
  std::memcpy(file.data() + header.graph_offset, builder.GetBufferPointer(), builder.GetSize());
  weights.copy_to(file.data() + header.weights_offset);
  header.weights_checksum = checksum64(file.data() + header.weights_offset, header.weights_size);
  header.header_checksum = checksum64(&header, offsetof(FileHeader, header_checksum));
  std::memcpy(file.data(), &header, sizeof header);
  return Bytes::from(std::move(file));
}

Status write_model_file(const ModelIr& model, const std::string& path) {
  Result<Bytes> bytes = serialize_model(model);
  if (!bytes.ok()) return bytes.status().with_context(path);
  // The reader must accept what the writer made, before anything reaches the disk.
  Result<ModelIr> back = read_model(*bytes);
  if (!back.ok()) return internal_error(path + ": the written model cannot be read back: " + back.status().message());
  return write_file_atomically(path, {{bytes->data(), bytes->size()}});
}

}  // namespace lq
