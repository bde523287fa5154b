// SPDX-License-Identifier: Apache-2.0
// Operators whose output has the shape of an input, or of all inputs broadcast.
#include <array>
#include <cmath>
#include <utility>

#include "estimate/files/onnx_rules.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t type_bool = 9;
constexpr std::uint64_t type_uint8 = 2;

bool is_whole(std::uint64_t type) {
  const OnnxType* known = find_onnx_type(type);
  return known != nullptr && !known->is_float;
}

std::vector<OnnxFact> same(const OnnxCall& call) {
  const OnnxShape* shape = call.shape(0);
  return shape == nullptr ? std::vector<OnnxFact>{}
                          : std::vector<OnnxFact>{{call.type(0), *shape, {}}};
}

std::vector<OnnxFact> keep(const OnnxCall& call) {
  const OnnxFact* input = call.input(0);
  return input == nullptr ? std::vector<OnnxFact>{} : std::vector<OnnxFact>{*input};
}

std::vector<OnnxFact> round_with(const OnnxCall& call, double (*round)(double)) {
  std::vector<OnnxFact> result = keep(call);
  if (!result.empty() && result[0].values) {
    for (double& value : *result[0].values) value = round(value);
  }
  return result;
}

std::vector<OnnxFact> floor_rule(const OnnxCall& call) {
  return round_with(call, [](double x) { return std::floor(x); });
}
std::vector<OnnxFact> ceil_rule(const OnnxCall& call) {
  return round_with(call, [](double x) { return std::ceil(x); });
}
std::vector<OnnxFact> negate(const OnnxCall& call) {
  return round_with(call, [](double x) { return -x; });
}
std::vector<OnnxFact> sqrt_rule(const OnnxCall& call) {
  return round_with(call, [](double x) { return std::sqrt(x); });
}

std::vector<OnnxFact> to_bool(const OnnxCall& call) {
  std::vector<OnnxFact> result = same(call);
  for (OnnxFact& fact : result) fact.type = type_bool;
  return result;
}

std::vector<OnnxFact> cast(const OnnxCall& call) {
  std::vector<OnnxFact> result = keep(call);
  if (result.empty()) return result;
  const std::uint64_t from = result[0].type;
  result[0].type = static_cast<std::uint64_t>(call.whole("to", 0));
  if (result[0].values && is_whole(result[0].type) && !is_whole(from)) {
    for (double& value : *result[0].values) value = std::trunc(value);
  }
  return result;
}

// Dropout in inference, and norms in training mode: further outputs have the same shape or none.
std::vector<OnnxFact> dropout(const OnnxCall& call) {
  std::vector<OnnxFact> result = keep(call);
  if (!result.empty() && call.outputs() > 1) result.push_back({type_bool, result[0].shape, {}});
  return result;
}

// Output, and the mean and inverse deviation of what was normalised.
std::vector<OnnxFact> layer_norm(const OnnxCall& call) {
  std::vector<OnnxFact> result = same(call);
  if (result.empty() || call.outputs() == 1) return result;
  const auto axis = to_axis(call.whole("axis", -1), result[0].shape->size());
  if (!axis) return result;
  OnnxShape statistics = *result[0].shape;
  for (std::size_t i = *axis; i < statistics.size(); ++i) statistics[i] = 1;
  for (std::size_t i = 1; i < call.outputs(); ++i) result.push_back({1, statistics, {}});
  return result;
}

// com.microsoft: output, mean, inverse deviation, and the sum of the two inputs.
std::vector<OnnxFact> skip_layer_norm(const OnnxCall& call) {
  std::vector<OnnxFact> result = same(call);
  if (!result.empty() && call.outputs() > 3) {
    result.resize(3);
    result.push_back(result[0]);
  }
  return result;
}

std::vector<OnnxFact> broadcast_all(const OnnxCall& call) {
  if (call.shape(0) == nullptr) return {};
  OnnxShape shape = *call.shape(0);
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    const OnnxShape* other = call.shape(i);
    const auto wider = other == nullptr ? std::nullopt : broadcast(shape, *other);
    if (!wider) return {};
    shape = *wider;
  }
  return {{call.type(0), shape, {}}};
}

using Arithmetic = double (*)(double, double);

// With numbers, where both sides are known and one is a scalar or they are of one length.
std::vector<OnnxFact> arithmetic(const OnnxCall& call, Arithmetic compute) {
  std::vector<OnnxFact> result = broadcast_all(call);
  const auto* a = call.values(0);
  const auto* b = call.values(1);
  if (result.empty() || a == nullptr || b == nullptr || a->empty() || b->empty()) return result;
  const std::size_t count = std::max(a->size(), b->size());
  if ((a->size() != count && a->size() != 1) || (b->size() != count && b->size() != 1))
    return result;
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(compute((*a)[i % a->size()], (*b)[i % b->size()]));
  result[0].values = std::move(values);
  return result;
}

std::vector<OnnxFact> add(const OnnxCall& call) {
  return arithmetic(call, [](double a, double b) { return a + b; });
}
std::vector<OnnxFact> sub(const OnnxCall& call) {
  return arithmetic(call, [](double a, double b) { return a - b; });
}
std::vector<OnnxFact> mul(const OnnxCall& call) {
  return arithmetic(call, [](double a, double b) { return a * b; });
}
std::vector<OnnxFact> div_rule(const OnnxCall& call) {
  if (is_whole(call.type(0)))
    return arithmetic(call, [](double a, double b) { return b == 0 ? 0 : std::trunc(a / b); });
  return arithmetic(call, [](double a, double b) { return a / b; });
}
std::vector<OnnxFact> mod(const OnnxCall& call) {
  return arithmetic(call,
                    [](double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); });
}
std::vector<OnnxFact> max_rule(const OnnxCall& call) {
  if (call.inputs() != 2) return broadcast_all(call);
  return arithmetic(call, [](double a, double b) { return std::max(a, b); });
}
std::vector<OnnxFact> min_rule(const OnnxCall& call) {
  if (call.inputs() != 2) return broadcast_all(call);
  return arithmetic(call, [](double a, double b) { return std::min(a, b); });
}

std::vector<OnnxFact> compare(const OnnxCall& call) {
  std::vector<OnnxFact> result = broadcast_all(call);
  for (OnnxFact& fact : result) fact.type = type_bool;
  return result;
}

std::vector<OnnxFact> equal(const OnnxCall& call) {
  std::vector<OnnxFact> result =
      arithmetic(call, [](double a, double b) { return a == b ? 1.0 : 0.0; });
  for (OnnxFact& fact : result) fact.type = type_bool;
  return result;
}

std::vector<OnnxFact> where(const OnnxCall& call) {
  std::vector<OnnxFact> result = broadcast_all(call);
  if (result.empty()) return result;
  result[0].type = call.type(1);
  const std::array<const std::vector<double>*, 3> sides = {call.values(0), call.values(1),
                                                           call.values(2)};
  std::size_t count = 0;
  for (const auto* side : sides) {
    if (side == nullptr || side->empty()) return result;
    count = std::max(count, side->size());
  }
  for (const auto* side : sides) {
    if (side->size() != 1 && side->size() != count) return result;
  }
  std::vector<double> values;
  const auto at = [&](std::size_t side, std::size_t i) {
    return (*sides[side])[i % sides[side]->size()];
  };
  for (std::size_t i = 0; i < count; ++i) values.push_back(at(at(0, i) != 0 ? 1 : 2, i));
  result[0].values = std::move(values);
  return result;
}

std::vector<OnnxFact> quantize(const OnnxCall& call) {
  std::vector<OnnxFact> result = same(call);
  for (OnnxFact& fact : result) fact.type = call.type(2) == 0 ? type_uint8 : call.type(2);
  return result;
}

std::vector<OnnxFact> dequantize(const OnnxCall& call) {
  std::vector<OnnxFact> result = same(call);
  for (OnnxFact& fact : result) fact.type = call.type(1) == 0 ? 1 : call.type(1);
  return result;
}

std::vector<OnnxFact> dynamic_quantize(const OnnxCall& call) {
  std::vector<OnnxFact> result = same(call);
  if (result.empty()) return result;
  result[0].type = type_uint8;
  result.push_back({1, OnnxShape{}, {}});
  result.push_back({type_uint8, OnnxShape{}, {}});
  return result;
}

constexpr std::array<std::string_view, 57> same_shape_ops = {"Abs",
                                                             "Acos",
                                                             "Acosh",
                                                             "Asin",
                                                             "Asinh",
                                                             "Atan",
                                                             "Atanh",
                                                             "Celu",
                                                             "Clip",
                                                             "Cos",
                                                             "Cosh",
                                                             "Elu",
                                                             "Erf",
                                                             "Exp",
                                                             "Gelu",
                                                             "HardSigmoid",
                                                             "HardSwish",
                                                             "Hardmax",
                                                             "LeakyRelu",
                                                             "Log",
                                                             "LogSoftmax",
                                                             "LpNormalization",
                                                             "Mish",
                                                             "PRelu",
                                                             "Reciprocal",
                                                             "Relu",
                                                             "Round",
                                                             "Selu",
                                                             "Shrink",
                                                             "Sigmoid",
                                                             "Sign",
                                                             "Sin",
                                                             "Sinh",
                                                             "Softmax",
                                                             "Softplus",
                                                             "Softsign",
                                                             "Tan",
                                                             "Tanh",
                                                             "ThresholdedRelu",
                                                             "BatchNormalization",
                                                             "InstanceNormalization",
                                                             "GroupNormalization",
                                                             "LRN",
                                                             "MeanVarianceNormalization",
                                                             "CumSum",
                                                             "Trilu",
                                                             "ScatterElements",
                                                             "ScatterND",
                                                             "Scatter",
                                                             "BitwiseNot",
                                                             "ReverseSequence",
                                                             "FastGelu",
                                                             "BiasGelu",
                                                             "QuickGelu",
                                                             "RotaryEmbedding",
                                                             "Swish",
                                                             "RMSNormalization"};

}  // namespace

const std::vector<NamedOnnxRule>& onnx_elementwise_rules() {
  static const std::vector<NamedOnnxRule> rules = [] {
    std::vector<NamedOnnxRule> all = {
        {"Identity", keep},
        {"Dropout", dropout},
        {"Floor", floor_rule},
        {"Ceil", ceil_rule},
        {"Neg", negate},
        {"Sqrt", sqrt_rule},
        {"Not", to_bool},
        {"IsNaN", to_bool},
        {"IsInf", to_bool},
        {"Cast", cast},
        {"CastLike", same},
        {"LayerNormalization", layer_norm},
        {"SimplifiedLayerNormalization", layer_norm},
        {"SkipLayerNormalization", skip_layer_norm},
        {"SkipSimplifiedLayerNormalization", skip_layer_norm},
        {"Add", add},
        {"Sub", sub},
        {"Mul", mul},
        {"Div", div_rule},
        {"Mod", mod},
        {"Pow", broadcast_all},
        {"Max", max_rule},
        {"Min", min_rule},
        {"Mean", broadcast_all},
        {"Sum", broadcast_all},
        {"BitShift", broadcast_all},
        {"BitwiseAnd", broadcast_all},
        {"BitwiseOr", broadcast_all},
        {"BitwiseXor", broadcast_all},
        {"And", compare},
        {"Or", compare},
        {"Xor", compare},
        {"Equal", equal},
        {"Greater", compare},
        {"GreaterOrEqual", compare},
        {"Less", compare},
        {"LessOrEqual", compare},
        {"Where", where},
        {"QuantizeLinear", quantize},
        {"DequantizeLinear", dequantize},
        {"DynamicQuantizeLinear", dynamic_quantize},
    };
    for (const std::string_view op : same_shape_ops) all.push_back({op, same});
    return all;
  }();
  return rules;
}

}  // namespace headroom::estimate
