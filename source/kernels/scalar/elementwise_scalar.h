// The scalar twins, by family; joined into one table in elementwise_table.cc.
#pragma once
#include "kernels/elementwise_kernels.h"

namespace lq::scalar {

void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args);
void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point);
void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args);
void table_u8(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table);
void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args);
void to_blocked_1(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_blocked_4(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_linear_1(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void to_linear_4(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void move_channels_1(const ChannelSource* sources, int source_count, uint32_t fill, void* y, int64_t count);
void move_channels_4(const ChannelSource* sources, int source_count, uint32_t fill, void* y, int64_t count);
void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& args);

}  // namespace lq::scalar
