// SPDX-License-Identifier: Apache-2.0
// Operators that move a window over an image or a signal: convolutions and pools. The output's size
// is that of onnx/onnx: docs/Operators.md: floor((size + padding - dilation (kernel - 1) - 1) /
// stride + 1).
#include <algorithm>
#include <utility>

#include "estimate/files/onnx_rules.h"

namespace headroom::estimate {
namespace {

constexpr std::int64_t window_max = 1 << 20;  // Of kernels, strides, dilations and paddings.

// How a window moves along each dimension.
struct Windows {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads;  // All beginnings, then all ends.
  std::string automatic;           // auto_pad
  bool ceil = false;
};

bool in_range(const std::vector<std::int64_t>& numbers, std::int64_t least) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](std::int64_t number) { return number >= least && number <= window_max; });
}

std::optional<Windows> windows_of(const OnnxCall& call, std::vector<std::int64_t> kernel) {
  const std::size_t rank = kernel.size();
  Windows windows{std::move(kernel),   call.wholes("strides"), call.wholes("dilations"),
                  call.wholes("pads"), call.text("auto_pad"),  call.whole("ceil_mode", 0) != 0};
  if (windows.strides.empty()) windows.strides.assign(rank, 1);
  if (windows.dilations.empty()) windows.dilations.assign(rank, 1);
  if (windows.pads.empty()) windows.pads.assign(2 * rank, 0);
  const bool right = windows.strides.size() == rank && windows.dilations.size() == rank &&
                     windows.pads.size() == 2 * rank && in_range(windows.kernel, 1) &&
                     in_range(windows.strides, 1) && in_range(windows.dilations, 1) &&
                     in_range(windows.pads, -window_max);
  if (!right) return std::nullopt;
  return windows;
}

// The size of the output along dimension `i`, or nothing if the window does not fit.
std::optional<std::uint64_t> moved(const Windows& windows, std::size_t i, std::uint64_t given) {
  const auto size = static_cast<std::int64_t>(given);
  const std::int64_t stride = windows.strides[i];
  const std::int64_t reach = windows.dilations[i] * (windows.kernel[i] - 1) + 1;
  if (windows.automatic.starts_with("SAME"))
    return static_cast<std::uint64_t>((size + stride - 1) / stride);
  const bool valid = windows.automatic == "VALID";
  const std::size_t rank = windows.kernel.size();
  const std::int64_t padding = valid ? 0 : windows.pads[i] + windows.pads[i + rank];
  const std::int64_t room = size + padding - reach;
  if (room < 0) return std::nullopt;
  std::int64_t steps = room / stride + 1;
  if (windows.ceil && room % stride != 0) {
    // A last window that would begin in the padding at the end does not count.
    const std::int64_t begin = steps * stride - (valid ? 0 : windows.pads[i]);
    if (begin < size) ++steps;
  }
  return static_cast<std::uint64_t>(steps);
}

std::optional<OnnxShape> moved_shape(const Windows& windows, const OnnxShape& x,
                                     std::uint64_t channels) {
  OnnxShape result = {x[0], channels};
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    const auto size = x[i + 2] > onnx_size_max ? std::nullopt : moved(windows, i, x[i + 2]);
    if (!size) return std::nullopt;
    result.push_back(*size);
  }
  return result;
}

// The kernel is given, or has the weight's shape behind its first two dimensions.
std::vector<std::int64_t> kernel_of(const OnnxCall& call, const OnnxShape& weight) {
  std::vector<std::int64_t> kernel = call.wholes("kernel_shape");
  if (!kernel.empty()) return kernel;
  for (std::size_t i = 2; i < weight.size(); ++i)
    kernel.push_back(static_cast<std::int64_t>(std::min(weight[i], onnx_size_max)));
  return kernel;
}

std::vector<OnnxFact> convolution(const OnnxCall& call, std::size_t weight_input,
                                  std::uint64_t type) {
  const OnnxShape* x = call.shape(0);
  const OnnxShape* weight = call.shape(weight_input);
  if (x == nullptr || weight == nullptr || x->size() < 3 || weight->size() != x->size()) return {};
  const auto windows = windows_of(call, kernel_of(call, *weight));
  if (!windows || windows->kernel.size() != x->size() - 2) return {};
  return {{type, moved_shape(*windows, *x, (*weight)[0]), {}}};
}

std::vector<OnnxFact> conv(const OnnxCall& call) {
  return convolution(call, 1, call.type(0));
}
std::vector<OnnxFact> conv_integer(const OnnxCall& call) {
  return convolution(call, 1, 6);  // INT32
}
std::vector<OnnxFact> quantized_conv(const OnnxCall& call) {
  return convolution(call, 3, call.type(7));
}

std::vector<OnnxFact> conv_transpose(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  const OnnxShape* weight = call.shape(1);
  if (x == nullptr || weight == nullptr || x->size() < 3 || weight->size() != x->size()) return {};
  const auto windows = windows_of(call, kernel_of(call, *weight));
  const std::int64_t groups = call.whole("group", 1);
  const std::size_t rank = x->size() - 2;
  if (!windows || windows->kernel.size() != rank || groups < 1 || groups > window_max) return {};
  std::vector<std::int64_t> extra = call.wholes("output_padding");
  if (extra.empty()) extra.assign(rank, 0);
  const std::vector<std::int64_t> given = call.wholes("output_shape");
  if (extra.size() != rank || !in_range(extra, 0)) return {};
  OnnxShape result = {(*x)[0], (*weight)[1] * static_cast<std::uint64_t>(groups)};
  for (std::size_t i = 0; i < rank; ++i) {
    const auto size = static_cast<std::int64_t>(std::min((*x)[i + 2], onnx_size_max));
    std::int64_t made = windows->strides[i] * (size - 1) + extra[i] +
                        windows->dilations[i] * (windows->kernel[i] - 1) + 1 - windows->pads[i] -
                        windows->pads[i + rank];
    if (windows->automatic.starts_with("SAME")) made = size * windows->strides[i];
    if (given.size() >= rank) made = given[given.size() - rank + i];
    if (made < 0) return {};
    result.push_back(static_cast<std::uint64_t>(made));
  }
  return {{call.type(0), result, {}}};
}

std::vector<OnnxFact> pool(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  if (x == nullptr || x->size() < 3) return {};
  const auto windows = windows_of(call, call.wholes("kernel_shape"));
  if (!windows || windows->kernel.size() != x->size() - 2) return {};
  const auto shape = moved_shape(*windows, *x, (*x)[1]);
  std::vector<OnnxFact> result = {{call.type(0), shape, {}}};
  if (call.outputs() > 1) result.push_back({7, shape, {}});  // MaxPool's indices.
  return result;
}

std::vector<OnnxFact> global_pool(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  if (x == nullptr || x->size() < 2) return {};
  OnnxShape result = *x;
  std::fill(result.begin() + 2, result.end(), 1);
  return {{call.type(0), result, {}}};
}

}  // namespace

const std::vector<NamedOnnxRule>& onnx_window_rules() {
  static const std::vector<NamedOnnxRule> rules = {
      {"Conv", conv},
      {"FusedConv", conv},
      {"ConvInteger", conv_integer},
      {"QLinearConv", quantized_conv},
      {"ConvTranspose", conv_transpose},
      {"MaxPool", pool},
      {"AveragePool", pool},
      {"LpPool", pool},
      {"GlobalAveragePool", global_pool},
      {"GlobalMaxPool", global_pool},
      {"GlobalLpPool", global_pool},
  };
  return rules;
}

}  // namespace headroom::estimate
