// SPDX-License-Identifier: Apache-2.0
// Operators that pick elements or reduce over dimensions.
#include <algorithm>
#include <cmath>
#include <utility>

#include "estimate/files/onnx_rules.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t type_int64 = 7;

// One dimension of a Slice: where it begins and how many elements it takes.
struct Cut {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};

std::optional<Cut> cut(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) return std::nullopt;
  const auto clip = [&](std::int64_t at) {
    if (at < 0) at += size;
    return std::clamp<std::int64_t>(at, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
  };
  const std::int64_t begin = clip(start);
  // Far below zero means "before the first", which counting from the end would miss.
  const std::int64_t stop = end < -size ? (step > 0 ? 0 : -1) : clip(end);
  const std::int64_t span = step > 0 ? stop - begin : begin - stop;
  const std::int64_t stride = step > 0 ? step : -step;
  return Cut{begin, span <= 0 ? 0 : (span + stride - 1) / stride, step};
}

std::optional<std::vector<double>> cut_values(const OnnxCall& call, const Cut& cut) {
  const std::vector<double>* values = call.values(0);
  if (values == nullptr || call.shape(0)->size() != 1) return std::nullopt;
  std::vector<double> kept;
  for (std::int64_t i = 0; i < cut.count; ++i) {
    const auto at = static_cast<std::size_t>(cut.begin + i * cut.step);
    if (at >= values->size()) return std::nullopt;
    kept.push_back((*values)[at]);
  }
  return kept;
}

std::vector<OnnxFact> slice(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  bool known = true;
  const auto starts = call.wholes_of("starts", 1, known);
  const auto ends = call.wholes_of("ends", 2, known);
  const auto axes = call.wholes_of("axes", 3, known);
  const auto steps = call.wholes_of("steps", 4, known);
  if (x == nullptr || !known || !starts || !ends || starts->size() != ends->size()) return {};
  OnnxFact fact{call.type(0), *x, {}};
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if ((axes && i >= axes->size()) || (steps && i >= steps->size())) return {};
    const auto axis = to_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), x->size());
    if (!axis || (*x)[*axis] > onnx_size_max) return {};
    const auto size = static_cast<std::int64_t>((*x)[*axis]);
    const auto one = cut(size, (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1);
    if (!one) return {};
    (*fact.shape)[*axis] = static_cast<std::uint64_t>(one->count);
    fact.values = cut_values(call, *one);
  }
  return {fact};
}

std::vector<OnnxFact> gather(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  const OnnxShape* indices = call.shape(1);
  const auto axis = x == nullptr ? std::nullopt : to_axis(call.whole("axis", 0), x->size());
  if (!axis || indices == nullptr) return {};
  const auto at = static_cast<std::ptrdiff_t>(*axis);
  OnnxShape result(x->begin(), x->begin() + at);
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), x->begin() + at + 1, x->end());
  OnnxFact fact{call.type(0), result, {}};
  if (call.values(0) == nullptr || call.values(1) == nullptr || x->size() != 1) return {fact};
  std::vector<double> values;
  for (const double index : *call.values(1)) {
    const auto place = to_axis(to_whole(index), call.values(0)->size());
    if (!place) return {fact};
    values.push_back((*call.values(0))[*place]);
  }
  fact.values = std::move(values);
  return {fact};
}

std::vector<OnnxFact> gather_elements(const OnnxCall& call) {
  if (call.shape(1) == nullptr) return {};
  return {{call.type(0), *call.shape(1), {}}};
}

std::vector<OnnxFact> gather_nd(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  const OnnxShape* indices = call.shape(1);
  const std::int64_t batch = call.whole("batch_dims", 0);
  if (x == nullptr || indices == nullptr || indices->empty() || batch < 0 || batch > 64) return {};
  const std::uint64_t taken = indices->back() + static_cast<std::uint64_t>(batch);
  if (indices->back() > x->size() || taken > x->size()) return {};
  OnnxShape result(indices->begin(), indices->end() - 1);
  result.insert(result.end(), x->begin() + static_cast<std::ptrdiff_t>(taken), x->end());
  return {{call.type(0), result, {}}};
}

std::vector<OnnxFact> reduce(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  bool known = true;
  const auto axes = call.wholes_of("axes", 1, known);
  if (x == nullptr || !known) return {};
  const bool all = !axes || axes->empty();
  if (all && call.whole("noop_with_empty_axes", 0) != 0) return {{call.type(0), *x, {}}};
  std::vector<bool> reduced(x->size(), all);
  for (const std::int64_t given : axes.value_or(std::vector<std::int64_t>{})) {
    const auto axis = to_axis(given, x->size());
    if (!axis) return {};
    reduced[*axis] = true;
  }
  const bool keep = call.whole("keepdims", 1) != 0;
  OnnxShape result;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!reduced[i]) result.push_back((*x)[i]);
    if (reduced[i] && keep) result.push_back(1);
  }
  OnnxFact fact{call.type(0), result, {}};
  if (call.node().op == "ReduceProd" && all && call.values(0) != nullptr) {
    double product = 1;
    for (const double value : *call.values(0)) product *= value;
    fact.values = std::vector<double>{product};
  }
  return {fact};
}

std::vector<OnnxFact> arg_reduce(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  const auto axis = x == nullptr ? std::nullopt : to_axis(call.whole("axis", 0), x->size());
  if (!axis) return {};
  OnnxShape result = *x;
  if (call.whole("keepdims", 1) != 0) {
    result[*axis] = 1;
  } else {
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(*axis));
  }
  return {{type_int64, result, {}}};
}

std::vector<OnnxFact> top_k(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  const auto axis = x == nullptr ? std::nullopt : to_axis(call.whole("axis", -1), x->size());
  std::int64_t k = call.whole("k", -1);
  if (call.values(1) != nullptr && call.values(1)->size() == 1) k = to_whole((*call.values(1))[0]);
  if (!axis || k < 0) return {};
  OnnxShape result = *x;
  result[*axis] = static_cast<std::uint64_t>(k);
  return {{call.type(0), result, {}}, {type_int64, result, {}}};
}

std::vector<OnnxFact> one_hot(const OnnxCall& call) {
  const OnnxShape* indices = call.shape(0);
  const std::vector<double>* depth = call.values(1);
  if (indices == nullptr || depth == nullptr || depth->size() != 1 || !(depth->front() >= 0))
    return {};
  const auto axis = to_axis(call.whole("axis", -1), indices->size() + 1);
  if (!axis) return {};
  OnnxShape result = *indices;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(*axis),
                static_cast<std::uint64_t>(to_whole(depth->front())));
  return {{call.type(2), result, {}}};
}

}  // namespace

const std::vector<NamedOnnxRule>& onnx_selection_rules() {
  static const std::vector<NamedOnnxRule> rules = {
      {"Slice", slice},        {"Gather", gather},       {"GatherElements", gather_elements},
      {"GatherND", gather_nd}, {"ArgMax", arg_reduce},   {"ArgMin", arg_reduce},
      {"TopK", top_k},         {"OneHot", one_hot},      {"ReduceL1", reduce},
      {"ReduceL2", reduce},    {"ReduceLogSum", reduce}, {"ReduceLogSumExp", reduce},
      {"ReduceMax", reduce},   {"ReduceMean", reduce},   {"ReduceMin", reduce},
      {"ReduceProd", reduce},  {"ReduceSum", reduce},    {"ReduceSumSquare", reduce},
  };
  return rules;
}

}  // namespace headroom::estimate
