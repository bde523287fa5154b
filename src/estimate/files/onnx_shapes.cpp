// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/onnx_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "estimate/files/onnx_rules.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t rank_max = 64;
constexpr std::uint64_t values_limit = 1U << 22U;  // Of all numbers kept.
constexpr std::size_t assumed_max = 16;

// "[1, 3, ?, ?]", with "height" for an open size that has a name.
std::string shown(const std::vector<OnnxDimension>& shape) {
  std::vector<std::string> sizes;
  for (const OnnxDimension& one : shape)
    sizes.push_back(one.size ? std::to_string(*one.size) : one.name.empty() ? "?" : one.name);
  return "[" + join(sizes, ", ") + "]";
}

std::string way_out(const OnnxValue& input) {
  std::vector<std::string> sizes;
  for (const OnnxDimension& one : *input.shape)
    sizes.push_back(one.size ? std::to_string(*one.size) : "…");
  return fmt::format("write its shape into the job: [model] shapes = {{ \"{}\" = [{}] }}",
                     input.name, join(sizes, ", "));
}

class Inference {
 public:
  Inference(const OnnxModel& model, const OnnxBinding& binding)
      : model_(model), binding_(binding) {}

  Result<OnnxShapes> infer() {
    HEADROOM_CHECK(check_names());
    for (const OnnxTensor& weight : model_.weights) {
      OnnxFact fact{weight.type, weight.shape, {}};
      if (!weight.values.empty()) fact.values = weight.values;
      shapes_.facts.insert_or_assign(weight.name, std::move(fact));
    }
    for (const OnnxValue& input : model_.inputs) HEADROOM_CHECK(bind(input));
    for (const OnnxNode& node : model_.nodes) infer(node);
    return std::move(shapes_);
  }

 private:
  Status check_names() const {
    for (const auto& [name, shape] : binding_.shapes) {
      const auto is_it = [&](const OnnxValue& input) { return input.name == name; };
      if (std::any_of(model_.inputs.begin(), model_.inputs.end(), is_it)) continue;
      std::vector<std::string> names;
      for (const OnnxValue& input : model_.inputs) names.push_back(input.name);
      return Error{Errc::invalid,
                   fmt::format("model.shapes: expected the inputs {}, found \"{}\"",
                               join(names, ", "), name),
                   "correct the name"};
    }
    return Done{};
  }

  Status bind(const OnnxValue& input) {
    if (!input.shape) return Done{};  // No tensor, or one of which the file says nothing.
    OnnxShape bound;
    const auto given = binding_.shapes.find(input.name);
    for (std::size_t i = 0; i < input.shape->size(); ++i) {
      const OnnxDimension& stated = (*input.shape)[i];
      std::optional<std::uint64_t> size = stated.size;
      if (given != binding_.shapes.end()) {
        if (given->second.size() != input.shape->size() || (size && given->second[i] != *size))
          return mismatch(input, given->second);
        size = given->second[i];
      }
      if (!size) size = from_job(stated, i == 0);
      if (!size) {
        return Error{Errc::invalid,
                     fmt::format("input {} has an open size: {}", input.name, shown(*input.shape)),
                     way_out(input)};
      }
      bound.push_back(*size);
    }
    if (!onnx_bytes(bound, input.type)) {
      return Error{Errc::invalid,
                   fmt::format("input {}: expected a tensor of fewer than 2^63 bytes, found [{}]",
                               input.name, fmt::join(bound, ", ")),
                   way_out(input)};
    }
    shapes_.facts.insert_or_assign(input.name, OnnxFact{input.type, bound, {}});
    return Done{};
  }

  static Error mismatch(const OnnxValue& input, const OnnxShape& given) {
    return {Errc::invalid,
            fmt::format("model.shapes: input {}: expected a shape like {}, found [{}]", input.name,
                        shown(*input.shape), fmt::join(given, ", ")),
            way_out(input)};
  }

  std::optional<std::uint64_t> from_job(const OnnxDimension& open, bool first) {
    const std::string name = to_lower(open.name);
    const auto says = [&](const char* word) { return name.find(word) != std::string::npos; };
    if (says("seq") || says("token")) {
      assume(open, fmt::format("batch.sequence = {}", binding_.sequence));
      return binding_.sequence;
    }
    const bool other = says("height") || says("width") || says("channel") || says("length");
    if (says("batch") || name == "n" || name == "b" || (first && !other)) {
      assume(open, fmt::format("batch.micro = {}", binding_.batch));
      return binding_.batch;
    }
    return std::nullopt;
  }

  void assume(const OnnxDimension& open, const std::string& as) {
    const std::string name =
        open.name.empty() ? "its unnamed first size" : fmt::format("its size \"{}\"", open.name);
    std::string words = fmt::format("{} is {}", name, as);
    if (shapes_.assumed.size() >= assumed_max) return;
    if (std::find(shapes_.assumed.begin(), shapes_.assumed.end(), words) == shapes_.assumed.end())
      shapes_.assumed.push_back(std::move(words));
  }

  void infer(const OnnxNode& node) {
    std::vector<const OnnxFact*> inputs;
    for (const std::string& name : node.inputs) {
      const auto found = shapes_.facts.find(name);
      inputs.push_back(name.empty() || found == shapes_.facts.end() ? nullptr : &found->second);
    }
    const OnnxRule rule = find_onnx_rule(node.op);
    std::vector<OnnxFact> facts;
    if (rule != nullptr) facts = rule(OnnxCall(node, std::move(inputs)));
    facts.resize(node.outputs.size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
      if (!node.outputs[i].empty()) state(node, node.outputs[i], std::move(facts[i]));
    }
  }

  // What the rule found, or else what the file states.
  void state(const OnnxNode& node, const std::string& name, OnnxFact fact) {
    const auto stated = model_.stated.find(name);
    if (stated != model_.stated.end()) {
      if (fact.type == 0) fact.type = stated->second.type;
      if (!fact.shape) fact.shape = bound_by_file(stated->second);
    }
    keep_values(fact);
    const bool too_large =
        fact.shape && (fact.shape->size() > rank_max ||
                       std::any_of(fact.shape->begin(), fact.shape->end(),
                                   [](std::uint64_t size) { return size > onnx_size_max; }));
    if (too_large || (fact.shape && !onnx_bytes(*fact.shape, fact.type))) fact.shape.reset();
    if (!fact.shape) shapes_.unknown.push_back(fmt::format("{} of {}", name, node.op));
    shapes_.facts.insert_or_assign(name, std::move(fact));
  }

  // Numbers are kept while they are few: memory stays bounded for any graph.
  void keep_values(OnnxFact& fact) {
    if (!fact.values) return;
    if (fact.values->size() > onnx_values_max || fact.values->size() > values_left_) {
      fact.values.reset();
    } else {
      values_left_ -= fact.values->size();
    }
  }

  std::optional<OnnxShape> bound_by_file(const OnnxValue& value) {
    if (!value.shape) return std::nullopt;
    OnnxShape shape;
    for (std::size_t i = 0; i < value.shape->size(); ++i) {
      const OnnxDimension& one = (*value.shape)[i];
      const auto size = one.size ? one.size : from_job(one, i == 0);
      if (!size) return std::nullopt;
      shape.push_back(*size);
    }
    return shape;
  }

  const OnnxModel& model_;
  const OnnxBinding& binding_;
  OnnxShapes shapes_;
  std::uint64_t values_left_ = values_limit;
};

}  // namespace

Result<OnnxShapes> infer_onnx_shapes(const OnnxModel& model, const OnnxBinding& binding) {
  return Inference(model, binding).infer();
}

}  // namespace headroom::estimate
