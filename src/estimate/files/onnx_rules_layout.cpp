// SPDX-License-Identifier: Apache-2.0
// Operators that put the same elements, or copies of them, into another shape.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "estimate/files/onnx_rules.h"

namespace headroom::estimate {
namespace {

std::optional<std::uint64_t> elements_of(const OnnxShape& shape) {
  return onnx_bytes(shape, 2);  // UINT8: a byte each.
}

// The same value under another shape: small numbers stay known.
std::vector<OnnxFact> reshaped(const OnnxCall& call, std::optional<OnnxShape> shape) {
  if (!shape) return {};
  OnnxFact fact{call.type(0), std::move(shape), {}};
  if (call.values(0) != nullptr) fact.values = *call.values(0);
  return {fact};
}

std::vector<OnnxFact> reshape(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  bool known = true;
  const auto wanted = call.wholes_of("shape", 1, known);
  if (x == nullptr || !wanted) return {};
  OnnxShape result;
  std::optional<std::size_t> open;
  std::uint64_t rest = 1;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    std::int64_t size = (*wanted)[i];
    if (size == 0 && call.whole("allowzero", 0) == 0) {
      if (i >= x->size()) return {};
      size = static_cast<std::int64_t>(std::min((*x)[i], onnx_size_max));
    }
    if (size == -1) open = i;
    if (size < -1) return {};
    result.push_back(size == -1 ? 1 : static_cast<std::uint64_t>(size));
    if (result.back() != 0 && rest > onnx_size_max / result.back()) return {};
    rest *= result.back();
  }
  const auto elements = elements_of(*x);
  if (open && elements && rest != 0) result[*open] = *elements / rest;
  if (open && (!elements || rest == 0)) return {};
  return elements_of(result) == elements ? reshaped(call, result) : std::vector<OnnxFact>{};
}

std::vector<OnnxFact> flatten(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  if (x == nullptr) return {};
  const std::int64_t axis = call.whole("axis", 1);
  const auto rank = static_cast<std::int64_t>(x->size());
  if (axis < -rank || axis > rank) return {};
  const auto split = x->begin() + (axis < 0 ? axis + rank : axis);
  const auto rows = elements_of(OnnxShape(x->begin(), split));
  const auto columns = elements_of(OnnxShape(split, x->end()));
  if (!rows || !columns) return {};
  return reshaped(call, OnnxShape{*rows, *columns});
}

std::vector<OnnxFact> squeeze(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  bool known = true;
  const auto axes = call.wholes_of("axes", 1, known);
  if (x == nullptr || !known) return {};
  std::vector<bool> drop(x->size());
  for (std::size_t i = 0; i < x->size(); ++i) drop[i] = !axes && (*x)[i] == 1;
  for (const std::int64_t given : axes.value_or(std::vector<std::int64_t>{})) {
    const auto axis = to_axis(given, x->size());
    if (!axis || (*x)[*axis] != 1) return {};
    drop[*axis] = true;
  }
  OnnxShape result;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!drop[i]) result.push_back((*x)[i]);
  }
  return reshaped(call, result);
}

std::vector<OnnxFact> unsqueeze(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  bool known = true;
  const auto axes = call.wholes_of("axes", 1, known);
  if (x == nullptr || !axes) return {};
  const std::size_t rank = x->size() + axes->size();
  std::vector<bool> added(rank);
  for (const std::int64_t given : *axes) {
    const auto axis = to_axis(given, rank);
    if (!axis || added[*axis]) return {};
    added[*axis] = true;
  }
  OnnxShape result;
  auto next = x->begin();
  for (std::size_t i = 0; i < rank; ++i) result.push_back(added[i] ? 1 : *next++);
  return reshaped(call, result);
}

std::vector<OnnxFact> transpose(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  if (x == nullptr) return {};
  std::vector<std::int64_t> order = call.wholes("perm");
  if (order.empty()) {
    order.resize(x->size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (order.size() != x->size()) return {};
  OnnxShape result;
  for (const std::int64_t from : order) {
    const auto axis = to_axis(from, x->size());
    if (!axis) return {};
    result.push_back((*x)[*axis]);
  }
  return {{call.type(0), result, {}}};
}

std::vector<OnnxFact> concat(const OnnxCall& call) {
  if (call.shape(0) == nullptr) return {};
  OnnxShape result = *call.shape(0);
  const auto axis = to_axis(call.whole("axis", 0), result.size());
  if (!axis) return {};
  bool known = call.values(0) != nullptr;
  std::vector<double> values = known ? *call.values(0) : std::vector<double>();
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    const OnnxShape* part = call.shape(i);
    if (part == nullptr || part->size() != result.size()) return {};
    result[*axis] += (*part)[*axis];
    known = known && call.values(i) != nullptr && values.size() <= onnx_values_max;
    if (known) values.insert(values.end(), call.values(i)->begin(), call.values(i)->end());
  }
  OnnxFact fact{call.type(0), result, {}};
  if (known && result.size() == 1) fact.values = std::move(values);
  return {fact};
}

std::vector<OnnxFact> split(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  const std::size_t count = call.outputs();
  bool known = true;
  auto sizes = call.wholes_of("split", 1, known);
  const auto axis = x == nullptr ? std::nullopt : to_axis(call.whole("axis", 0), x->size());
  if (!axis || !known || count == 0) return {};
  if (!sizes) {
    sizes.emplace();
    std::uint64_t left = (*x)[*axis];
    const std::uint64_t each = (left + count - 1) / count;
    for (std::size_t i = 0; i < count; ++i) {
      sizes->push_back(to_whole(static_cast<double>(std::min(each, left))));
      left -= std::min(each, left);
    }
  }
  std::vector<OnnxFact> result;
  for (const std::int64_t size : *sizes) {
    if (size < 0) return {};
    OnnxFact part{call.type(0), *x, {}};
    (*part.shape)[*axis] = static_cast<std::uint64_t>(size);
    result.push_back(std::move(part));
  }
  return result;
}

std::optional<OnnxShape> to_shape(const std::vector<double>* numbers) {
  if (numbers == nullptr) return std::nullopt;
  OnnxShape shape;
  for (const double number : *numbers) {
    if (!(number >= 0)) return std::nullopt;
    shape.push_back(static_cast<std::uint64_t>(to_whole(number)));
  }
  return shape;
}

std::vector<OnnxFact> expand(const OnnxCall& call) {
  const auto wanted = to_shape(call.values(1));
  if (call.shape(0) == nullptr || !wanted) return {};
  return {{call.type(0), broadcast(*call.shape(0), *wanted), {}}};
}

std::vector<OnnxFact> tile(const OnnxCall& call) {
  const auto repeats = to_shape(call.values(1));
  if (call.shape(0) == nullptr || !repeats || repeats->size() != call.shape(0)->size()) return {};
  OnnxShape result = *call.shape(0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] > onnx_size_max ||
        (*repeats)[i] > onnx_size_max / std::max<std::uint64_t>(result[i], 1))
      return {};
    result[i] *= (*repeats)[i];
  }
  return {{call.type(0), result, {}}};
}

std::vector<OnnxFact> pad(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  bool known = true;
  const auto pads = call.wholes_of("pads", 1, known);
  if (x == nullptr || !pads || pads->size() != 2 * x->size()) return {};
  OnnxShape result;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const double size = static_cast<double>((*x)[i]) + static_cast<double>((*pads)[i]) +
                        static_cast<double>((*pads)[i + x->size()]);
    if (!(size >= 0)) return {};
    result.push_back(static_cast<std::uint64_t>(to_whole(size)));
  }
  return {{call.type(0), result, {}}};
}

std::vector<OnnxFact> scaled(const OnnxCall& call, const std::vector<double>& scales) {
  const OnnxShape* x = call.shape(0);
  if (x == nullptr || scales.size() != x->size()) return {};
  OnnxShape result;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const double size = std::floor(static_cast<double>((*x)[i]) * scales[i]);
    if (!(size >= 0)) return {};
    result.push_back(static_cast<std::uint64_t>(to_whole(size)));
  }
  return {{call.type(0), result, {}}};
}

// X, roi, scales, sizes; in operator set 10 X, scales.
std::vector<OnnxFact> resize(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  if (x == nullptr) return {};
  const std::size_t scales = call.inputs() == 2 ? 1 : 2;
  if (call.values(scales) != nullptr && !call.values(scales)->empty())
    return scaled(call, *call.values(scales));
  const auto sizes = to_shape(call.values(3));
  if (!sizes || sizes->size() != x->size()) return {};
  return {{call.type(0), *sizes, {}}};
}

std::vector<OnnxFact> upsample(const OnnxCall& call) {
  if (call.values(1) != nullptr) return scaled(call, *call.values(1));
  const auto found = call.node().attributes.find("scales");
  if (found == call.node().attributes.end()) return {};
  return scaled(call, found->second.reals);
}

std::vector<OnnxFact> depth_to_space(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  const std::int64_t given = call.whole("blocksize", 0);
  if (x == nullptr || x->size() != 4 || given < 1 || given > 1 << 20) return {};
  const auto block = static_cast<std::uint64_t>(given);
  if ((*x)[2] > onnx_size_max || (*x)[3] > onnx_size_max) return {};
  return {{call.type(0),
           OnnxShape{(*x)[0], (*x)[1] / (block * block), (*x)[2] * block, (*x)[3] * block},
           {}}};
}

std::vector<OnnxFact> space_to_depth(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  const std::int64_t given = call.whole("blocksize", 0);
  if (x == nullptr || x->size() != 4 || given < 1 || given > 1 << 10) return {};
  const auto block = static_cast<std::uint64_t>(given);
  if ((*x)[1] > onnx_size_max) return {};
  return {{call.type(0),
           OnnxShape{(*x)[0], (*x)[1] * block * block, (*x)[2] / block, (*x)[3] / block},
           {}}};
}

}  // namespace

const std::vector<NamedOnnxRule>& onnx_layout_rules() {
  static const std::vector<NamedOnnxRule> rules = {
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Transpose", transpose},
      {"Concat", concat},
      {"Split", split},
      {"Expand", expand},
      {"Tile", tile},
      {"Pad", pad},
      {"Resize", resize},
      {"Upsample", upsample},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
  };
  return rules;
}

}  // namespace headroom::estimate
