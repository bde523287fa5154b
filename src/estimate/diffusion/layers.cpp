// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/layers.h"

#include <utility>

namespace headroom::estimate::diffusion {

Maps maps(Tensor tensor, bool channels_last) {
  Maps result;
  static_cast<Tensor&>(result) = std::move(tensor);
  result.channels_last = channels_last;
  return result;
}

Linear make_linear(Weights& weights, Name name, const LinearShape& shape) {
  Linear linear;
  linear.name = name;
  linear.weight = weights.add(name + ".weight", {shape.out, shape.in});
  if (shape.bias) linear.bias = weights.add(name + ".bias", {shape.out});
  return linear;
}

Tensor apply(const Model& model, const Linear& linear, const Tensor& x) {
  const Needed needed(model.weights, {linear.weight, linear.bias});
  std::optional<Tensor> bias;
  if (linear.bias != nullptr) bias = linear.bias->tensor;
  return ops::linear(model.tape, x, linear.weight->tensor, bias, linear.name);
}

// at::linear without addmm: matmul folds the samples into rows, which are copied where they do not
// lie one behind the other, and the bias is added in place.
Tensor apply_turned(const Model& model, const Linear& linear, const Tensor& x) {
  const Needed needed(model.weights, {linear.weight, linear.bias});
  Tensor rows = x;
  if (x.shape[0] > 1) rows = ops::copy(model.tape, x, x.shape, linear.name + ".rows");
  return ops::linear(model.tape, rows, linear.weight->tensor, std::nullopt, linear.name);
}

namespace {

// What MIOpen gives a product for a workspace at most (src/solver/gemm_common.cpp, MaxMemAllocSz):
// beyond it another kernel is taken, which needs none.
constexpr std::uint64_t product_workspace_max = 7287183769;

// MIOpen's GemmFwdRest multiplies one image at a time, whose input it first writes out once for
// each place of the kernel (src/solver/conv/gemm.cpp, GetWorkspaceSize).
void unfold(Tape& tape, const Shape& weight, const Meta& output) {
  const Meta columns{{weight[1] * weight[2] * weight[3], output.shape[2], output.shape[3]},
                     output.element};
  const std::uint64_t limit =
      output.element == Element::fp32 ? 2 * product_workspace_max : product_workspace_max;
  if (columns.bytes() > limit) return;
  const Tensor workspace = tape.empty("convolution_workspace", columns, Component::workspace);
}

}  // namespace

Convolution make_convolution(Weights& weights, Name name, const ConvolutionShape& shape) {
  Convolution convolution;
  convolution.name = name;
  convolution.stride = shape.stride;
  convolution.weight =
      weights.add(name + ".weight", {shape.out, shape.in, shape.kernel, shape.kernel});
  convolution.bias = weights.add(name + ".bias", {shape.out});
  return convolution;
}

// Padded by half of an odd kernel. MIOpen works on planes: PyTorch hands it a copy of what is none.
Maps apply(const Model& model, const Convolution& convolution, const Maps& x) {
  const Needed needed(model.weights, {convolution.weight, convolution.bias});
  Tensor planes = x.tensor();
  if (x.channels_last) planes = ops::copy(model.tape, x, x.shape, convolution.name + ".planes");
  const Shape& weight = convolution.weight->meta.shape;
  const auto side = [&](std::uint64_t size) {
    return (size + 2 * ((weight[2] - 1) / 2) - weight[2]) / convolution.stride + 1;
  };
  Meta output = x.meta();
  output.shape = {x.shape[0], weight[0], side(x.shape[2]), side(x.shape[3])};
  const Tensor y =
      ops::convolution(model.tape, planes, {convolution.weight->tensor, convolution.bias->tensor},
                       output, convolution.name);
  if (model.unfolds && weight[2] > 1) unfold(model.tape, weight, output);
  return maps(y);
}

Norm make_norm(Weights& weights, Name name, std::uint64_t width, std::uint64_t groups) {
  Norm norm = make_rms_norm(weights, name, width);
  norm.bias = weights.add(name + ".bias", {width});
  norm.groups = groups;
  return norm;
}

Norm make_plain_norm(Name name) {
  Norm norm;
  norm.name = name;
  return norm;
}

Norm make_rms_norm(Weights& weights, Name name, std::uint64_t width) {
  Norm norm = make_plain_norm(name);
  norm.weight = weights.add(name + ".weight", {width});
  return norm;
}

// native/cuda/group_norm_kernel.cu: the result, mean and deviation of each group, then a factor and
// an offset for each channel in fp32. GroupNorm asks for planes.
Maps normalise_groups(const Model& model, const Norm& norm, const Maps& x) {
  const Needed needed(model.weights, {norm.weight, norm.bias});
  Tape& tape = model.tape;
  const std::uint64_t groups = x.shape[0] * norm.groups;
  const std::uint64_t channels = x.shape[0] * x.shape[1];
  const Tensor y = tape.empty(norm.name, x.meta());
  const Tensor mean = tape.empty(norm.name + ".mean", {{groups}, x.element});
  const Tensor deviation = tape.empty(norm.name + ".rstd", {{groups}, x.element});
  Tensor planes;
  if (x.channels_last) planes = ops::copy(tape, x, x.shape, norm.name + ".planes");
  const Tensor factors = tape.empty(norm.name + ".factors", {{channels}, Element::fp32});
  const Tensor offsets = tape.empty(norm.name + ".offsets", {{channels}, Element::fp32});
  return maps(y);
}

Tensor normalise(const Model& model, const Norm& norm, const Tensor& x, bool turned) {
  const Needed needed(model.weights, {norm.weight, norm.bias});
  Tape& tape = model.tape;
  Tensor rows = x;
  if (turned) rows = ops::copy(tape, x, x.shape, norm.name + ".rows");
  Tensor weight, bias;
  if (norm.weight != nullptr) weight = norm.weight->tensor;
  if (norm.bias != nullptr) bias = norm.bias->tensor;
  return ops::layer_norm(tape, rows, weight, bias, norm.name);
}

Tensor normalise_rms(const Model& model, const Norm& norm, const Tensor& x) {
  const Needed needed(model.weights, {norm.weight});
  Tape& tape = model.tape;
  Tensor factor;
  {
    Tensor wide = ops::cast(tape, x, Element::fp32, norm.name + ".fp32");
    Tensor squares = ops::square(tape, wide, norm.name + ".squares");
    wide = {};
    Tensor variance = ops::mean_last(tape, squares, norm.name + ".variance");
    squares = {};
    variance = ops::scale(tape, variance, norm.name + ".variance");
    factor = ops::rsqrt(tape, variance, norm.name + ".rsqrt");
  }
  Tensor y = ops::mul(tape, x, factor, norm.name + ".normed");
  factor = {};
  y = ops::cast(tape, y, norm.weight->meta.element, norm.name + ".narrow");
  return ops::mul(tape, y, norm.weight->tensor, norm.name);
}

Maps add(const Model& model, const Maps& a, const Tensor& b, Name name) {
  return maps(ops::add(model.tape, a, b, name), a.channels_last);
}

Maps scale(const Model& model, const Maps& x, Name name) {
  return maps(ops::scale(model.tape, x, name), x.channels_last);
}

Maps resize(const Model& model, const Maps& x, std::uint64_t height, std::uint64_t width) {
  Meta meta = x.meta();
  meta.shape[2] = height;
  meta.shape[3] = width;
  return maps(model.tape.empty("interpolate", meta), x.channels_last);
}

}  // namespace headroom::estimate::diffusion
