// SPDX-License-Identifier: Apache-2.0
// The trainer's inner loops in fp32, compiled once for each kind of processor. All of them add in
// the same order, element by element, whatever the width of a vector and however many threads share
// the rows: on every processor with fused multiply-add a run computes the same bits.
//
// Rows and pointers only: who allocates, and who shares the work among threads, is in ops/. Nothing
// here allocates; what a function needs besides its arguments is on its stack, 16 KiB at most.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom::trainer::kernels {

// A matrix of fp32 or bf16 with any strides, in elements.
struct MatrixView {
  const void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  bool bf16 = false;
};

// Rows of fp32 that products are written to; columns lie side by side.
struct OutView {
  float* data = nullptr;
  std::int64_t row_stride = 0;
};

// A product is computed in blocks of `inner_block` × `column_block` of its right factor, which is
// packed first: 512 KiB, which the second-level cache of most processors holds.
inline constexpr std::int64_t inner_block = 256;
inline constexpr std::int64_t column_block = 512;
inline constexpr std::int64_t panel_columns = 32;  // Packed side by side; divides column_block.
// Rows that share one packing of the left factor; threads take whole groups of them.
inline constexpr std::int64_t row_group = 84;

// A part of the right factor: at most inner_block × column_block.
struct PackedShape {
  std::int64_t inner = 0;
  std::int64_t columns = 0;

  std::int64_t panels() const { return (columns + panel_columns - 1) / panel_columns; }
  std::int64_t panel_elements() const { return inner * panel_columns; }
};

struct PackedPart {
  const float* packed = nullptr;
  PackedShape shape;
};

struct Rows {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

struct Factors {
  float beta = 0;
  float alpha = 1;
};

// The angles of one position, and how many there are: half of a head.
struct RotationRow {
  const float* cos = nullptr;
  const float* sin = nullptr;
  std::int64_t half = 0;
  float direction = 1;
};

// Of one row of LayerNorm.
struct RowStats {
  float mean = 0;
  float rstd = 0;
};

struct NormWeights {
  const float* weight = nullptr;
  const float* bias = nullptr;
};

struct NormSums {
  float* weight = nullptr;
  float* bias = nullptr;
};

struct AdamWRow {
  float* value = nullptr;
  const float* grad = nullptr;
  float* mean = nullptr;
  float* variance = nullptr;
  std::int64_t count = 0;
};

// One step of AdamW, as fp32 multiplies it.
struct AdamWRates {
  float gradient = 1;       // Multiplies the gradient first.
  float mean_part = 0;      // 1 − beta1
  float variance_part = 0;  // 1 − beta2
  float root = 1;           // √(1 − beta2ᵗ)
  float epsilon = 0;
  float keep = 1;  // 1 − learning rate · weight decay
  float rate = 0;  // learning rate / (1 − beta1ᵗ)
};

struct SgdRow {
  float* value = nullptr;
  const float* grad = nullptr;
  float* momentum = nullptr;  // Null: without.
  std::int64_t count = 0;
};

struct SgdRates {
  float gradient = 1;  // Multiplies the gradient first.
  float decay = 0;
  float momentum = 0;
  bool nesterov = false;
  float rate = 0;
};

struct WeighedRow {
  float* value = nullptr;
  const float* grad = nullptr;
  const float* weights = nullptr;
  std::int64_t count = 0;
};

// The loops of one kind of processor. What is called `count` or `width` may be any number.
struct Kernels {
  const char* name = "";
  bool fused = false;  // Whether a multiply-add rounds once. Those where it does agree to the bit.

  // Copies the panels [first, end) of the part of `right` that begins at its data.
  void (*pack)(const MatrixView& right, const PackedShape& shape, std::int64_t first,
               std::int64_t end, float* packed) = nullptr;
  // out = beta · out + alpha · left · packed, for the rows [first, end); beta is 0 or 1.
  void (*multiply)(const OutView& out, const MatrixView& left, const PackedPart& right,
                   const Rows& rows, const Factors& factors) = nullptr;

  // row = factor · softmax(row); returns the logarithm of the sum of the exponentials.
  float (*softmax)(float* row, std::int64_t count, float factor) = nullptr;
  // row = exp(row − logsumexp)
  void (*softmax_again)(float* row, std::int64_t count, float logsumexp) = nullptr;
  // row = cap · tanh(row / cap); writes 1 − tanh²(row / cap) to `slopes`, if it is not null. It may
  // be the row, which then holds them.
  void (*soft_cap)(float* row, float* slopes, std::int64_t count, float cap) = nullptr;
  // row = row · factors
  void (*weigh)(float* row, const float* factors, std::int64_t count) = nullptr;
  // row = (row − subtracted) · weights
  void (*subtract_and_weigh)(float* row, const float* weights, std::int64_t count,
                             float subtracted) = nullptr;
  float (*dot)(const float* left, const float* right, std::int64_t count) = nullptr;

  // out = x · rstd · weight; returns rstd = 1/√(mean(x²) + eps).
  float (*rms_norm)(const float* x, const float* weight, float* out, std::int64_t width,
                    float eps) = nullptr;
  // grad = rstd · (grad · weight − normed · mean(grad · weight · normed)), normed = x · rstd
  void (*rms_norm_backward)(float* grad, const float* x, const float* weight, std::int64_t width,
                            float rstd) = nullptr;
  // sum += grad · x · rstd
  void (*add_norm_weight)(float* sum, const float* grad, const float* x, std::int64_t count,
                          float rstd) = nullptr;

  // out = (x − mean) · rstd · weight + bias, with rstd = 1/√(mean((x − mean)²) + eps).
  RowStats (*layer_norm)(const float* x, const NormWeights& weights, float* out, std::int64_t width,
                         float eps) = nullptr;
  // grad = rstd · (grad · weight − mean(grad · weight) − normed · mean(grad · weight · normed)),
  // normed = (x − mean) · rstd
  void (*layer_norm_backward)(float* grad, const float* x, const float* weight, std::int64_t width,
                              const RowStats& row) = nullptr;
  // weight sum += grad · (x − mean) · rstd, bias sum += grad
  void (*add_layer_norm_weights)(const NormSums& sums, const float* grad, const float* x,
                                 std::int64_t count, const RowStats& row) = nullptr;

  // (first, second) = (first · cos − second · sin, second · cos + first · sin), with
  // direction · sin for sin.
  void (*rotate)(float* first, float* second, const RotationRow& row) = nullptr;
  // out = silu(gate) · up
  void (*swiglu)(float* out, const float* gate, const float* up, std::int64_t count) = nullptr;
  // `grad` holds d out on entry and d gate on return; up_grad is written.
  void (*swiglu_backward)(float* grad, float* up_grad, const float* gate, const float* up,
                          std::int64_t count) = nullptr;
  // out = gelu(gate) · up, with the gelu of below.
  void (*geglu)(float* out, const float* gate, const float* up, std::int64_t count) = nullptr;
  // As swiglu_backward.
  void (*geglu_backward)(float* grad, float* up_grad, const float* gate, const float* up,
                         std::int64_t count) = nullptr;
  // out = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))
  void (*gelu)(float* out, const float* x, std::int64_t count) = nullptr;
  // `grad` holds d out on entry and d x on return.
  void (*gelu_backward)(float* grad, const float* x, std::int64_t count) = nullptr;
  void (*adamw)(const AdamWRow& row, const AdamWRates& rates) = nullptr;
  double (*sum_of_squares)(const float* values, std::int64_t count) = nullptr;
  void (*sgd)(const SgdRow& row, const SgdRates& rates) = nullptr;
  // value = value · keep − grad · weights · rate
  void (*move_weighed)(const WeighedRow& row, float keep, float rate) = nullptr;
  // sums += values²
  void (*add_squares)(double* sums, const float* values, std::int64_t count) = nullptr;
  double (*sum_of_weighed_squares)(const float* values, const float* weights,
                                   std::int64_t count) = nullptr;
};

// Those of the processor that runs this: the fastest that it has the instructions for.
const Kernels& kernels();

// All that this processor can run, for tests; the portable ones come last.
struct Available {
  const Kernels* list[3] = {};
  std::size_t count = 0;
};
Available available_kernels();

}  // namespace headroom::trainer::kernels
