// Inputs and outputs: what they are, where they are, the caller's buffers and images.
#include "capi/handles.h"
#include "graph/built_ops.h"
#include "image/preprocess.h"

using namespace lq::capi;

namespace {

const lq::schema::PreprocessingT* preprocessing_of(const lq_session& s, const std::string& input) {
  for (const lq::schema::InputInfoT& info : s.model->ir().inputs) {
    if (info.name == input && info.preprocessing) return info.preprocessing.get();
  }
  return nullptr;
}

lq_status describe(const lq::Tensor& tensor, const lq::QuantParams* quant, lq_layout layout, bool takes_images,
                   const char* function, lq_tensor_info* to) {
  lq_tensor_info info{};
  if (tensor.shape.size() > LQ_MAX_RANK)
    return fail(LQ_UNSUPPORTED, "tensor '" + tensor.name + "' has more than 8 dimensions");
  info.name = tensor.name.c_str();
  info.dtype = lq_dtype(int(tensor.dtype));
  info.rank = int32_t(tensor.shape.size());
  for (size_t i = 0; i < tensor.shape.size(); ++i) info.shape[i] = tensor.shape[i];
  info.size_bytes = size_t(lq::element_count(tensor.shape)) * lq::dtype_size(tensor.dtype);
  if (quant != nullptr && quant->scale.size() == 1) {
    info.quantized_dtype = lq_dtype(int(quant->dtype));
    info.scale = lq::scale_at(*quant, 0);
    info.zero_point = lq::zero_point_at(*quant, 0);
  }
  info.layout = layout;
  info.takes_images = takes_images ? 1 : 0;
  return give(info, function, "lq_tensor_info", to);
}

/// What a C caller wrote into an enum's place: any int may be there, and only an enumerator may be read as one.
template <typename Enum>
int value_of(const Enum& e) {
  static_assert(sizeof(Enum) == sizeof(int));
  int value;
  std::memcpy(&value, &e, sizeof value);
  return value;
}

lq_status take_buffer(const lq_buffer* buffer, const char* function, lq::ExternalBuffer& to) {
  if (buffer == nullptr) return LQ_OK;
  lq_buffer b{};
  if (const lq_status status = take(*buffer, function, "lq_buffer", b)) return status;
  const int layout = value_of(b.layout), dtype = value_of(b.dtype);
  if (layout < LQ_LAYOUT_MODEL || layout > LQ_LAYOUT_NHWC)
    return fail(LQ_INVALID_ARGUMENT, std::string(function) + ": unknown layout");
  if (dtype < 0 || dtype > LQ_FLOAT64) return fail(LQ_INVALID_ARGUMENT, std::string(function) + ": unknown dtype");
  to = {b.data, b.size_bytes, lq::DType(dtype), lq::BufferLayout(layout)};
  return LQ_OK;
}

lq_status take_image(const lq_image& image, lq::PixelView& to) {
  lq_image i{};
  if (const lq_status status = take(image, "lq_session_set_image", "lq_image", i)) return status;
  const int format = value_of(i.format);
  if (format < LQ_PIXEL_GRAY || format > LQ_PIXEL_BGRA)
    return fail(LQ_INVALID_ARGUMENT, "lq_session_set_image: unknown pixel format");
  static_assert(int(lq::PixelFormat::kBgra) == LQ_PIXEL_BGRA && int(lq::PixelFormat::kRgb) == LQ_PIXEL_RGB);
  to = {i.pixels, i.width, i.height, i.stride, lq::PixelFormat(format)};
  if (i.stride == 0 && i.width > 0) to.stride = size_t(i.width) * size_t(lq::bytes_per_pixel(to.format));
  return LQ_OK;
}

/// Straight into the input's place in the batch.
lq::Status set_image(lq_session& s, size_t index, int32_t batch, const lq::PixelView& view) {
  lq::Session& session = *s.session;
  const lq::Tensor& tensor = session.input(index);
  const lq::schema::PreprocessingT* preprocessing = preprocessing_of(s, tensor.name);
  if (preprocessing == nullptr)
    return lq::not_found("the model stores no preprocessing for input '" + tensor.name + "'; write the tensor itself");
  if (session.is_input_copied(index))
    return lq::invalid_argument("input '" + tensor.name +
                                "' is bound to a buffer each run copies from; unbind it first");
  const int64_t images = tensor.shape.size() == 4 ? tensor.shape[0] : 1;
  if (batch < 0 || batch >= images)
    return lq::invalid_argument("input '" + tensor.name + "' holds " + std::to_string(images) +
                                " images, there is no number " + std::to_string(batch));
  if constexpr (lq::kImagesBuilt) {
    LQ_ASSIGN_OR_RETURN(const lq::PixelBuffer pixels,
                        lq::preprocess_pixels(view, *preprocessing, tensor.name, tensor.shape, s.allocator));
    const size_t bytes = size_t(lq::element_count(tensor.shape) / images) * lq::dtype_size(tensor.dtype);
    return lq::pixels_to_tensor(pixels, *preprocessing, tensor.name, tensor.dtype,
                                static_cast<uint8_t*>(session.input_data(index)) + size_t(batch) * bytes);
  }
  return lq::unsupported("this build of libquant leaves out images; build it with Image in LIBQUANT_OPS");
}

}  // namespace

int32_t lq_session_input_count(const lq_session* session) {
  return session ? int32_t(session->session->input_count()) : 0;
}
int32_t lq_session_output_count(const lq_session* session) {
  return session ? int32_t(session->session->output_count()) : 0;
}

int32_t lq_session_find_input(const lq_session* session, const char* name) {
  for (int32_t i = 0; name != nullptr && i < lq_session_input_count(session); ++i) {
    if (session->session->input(size_t(i)).name == name) return i;
  }
  return -1;
}

int32_t lq_session_find_output(const lq_session* session, const char* name) {
  for (int32_t i = 0; name != nullptr && i < lq_session_output_count(session); ++i) {
    if (session->session->output(size_t(i)).name == name) return i;
  }
  return -1;
}

lq_status lq_session_input_info(const lq_session* session, int32_t index, lq_tensor_info* info) {
  constexpr const char* kName = "lq_session_input_info";
  if (session == nullptr || info == nullptr || !in_range(index, session->session->input_count()))
    return fail(LQ_INVALID_ARGUMENT, "lq_session_input_info: NULL argument or no such input");
  const lq::Session& s = *session->session;
  const lq::Tensor& tensor = s.input(size_t(index));
  const bool nhwc = s.input_layout(size_t(index)) == lq::schema::DataLayout::Nhwc;
  return describe(tensor, s.input_quant(size_t(index)), nhwc ? LQ_LAYOUT_NHWC : LQ_LAYOUT_NCHW,
                  preprocessing_of(*session, tensor.name) != nullptr, kName, info);
}

lq_status lq_session_output_info(const lq_session* session, int32_t index, lq_tensor_info* info) {
  if (session == nullptr || info == nullptr || !in_range(index, session->session->output_count()))
    return fail(LQ_INVALID_ARGUMENT, "lq_session_output_info: NULL argument or no such output");
  const lq::Session& s = *session->session;
  return describe(s.output(size_t(index)), s.output_quant(size_t(index)), LQ_LAYOUT_NCHW, false,
                  "lq_session_output_info", info);
}

void* lq_session_input(lq_session* session, int32_t index) {
  if (session == nullptr || !in_range(index, session->session->input_count())) return nullptr;
  return session->session->input_data(size_t(index));
}

const void* lq_session_output(const lq_session* session, int32_t index) {
  if (session == nullptr || !in_range(index, session->session->output_count())) return nullptr;
  return session->session->output_data(size_t(index));
}

lq_status lq_session_bind_input(lq_session* session, int32_t index, const lq_buffer* buffer) {
  if (session == nullptr || !in_range(index, session->session->input_count()))
    return fail(LQ_INVALID_ARGUMENT, "lq_session_bind_input: NULL session or no such input");
  lq::ExternalBuffer taken;
  if (const lq_status status = take_buffer(buffer, "lq_session_bind_input", taken)) return status;
  return report(session->session->bind_input(size_t(index), taken));
}

lq_status lq_session_bind_output(lq_session* session, int32_t index, const lq_buffer* buffer) {
  if (session == nullptr || !in_range(index, session->session->output_count()))
    return fail(LQ_INVALID_ARGUMENT, "lq_session_bind_output: NULL session or no such output");
  lq::ExternalBuffer taken;
  if (const lq_status status = take_buffer(buffer, "lq_session_bind_output", taken)) return status;
  return report(session->session->bind_output(size_t(index), taken));
}

lq_status lq_session_set_image(lq_session* session, int32_t index, int32_t batch, const lq_image* image) {
  if (session == nullptr || image == nullptr || !in_range(index, session->session->input_count()))
    return fail(LQ_INVALID_ARGUMENT, "lq_session_set_image: NULL argument or no such input");
  lq::PixelView view;
  if (const lq_status status = take_image(*image, view)) return status;
  return report(set_image(*session, size_t(index), batch, view));
}
