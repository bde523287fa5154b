// SPDX-License-Identifier: Apache-2.0
#include "estimate/onnx_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace headroom::estimate {
namespace {

constexpr std::array<std::string_view, 5> view_ops = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                                      "Identity"};
// MayInplace(0, 0) of providers/cuda/activation/activations.cc.
constexpr std::array<std::string_view, 10> in_place_ops = {
    "Elu",     "HardSigmoid", "LeakyRelu", "Relu", "Selu",
    "Sigmoid", "Softplus",    "Softsign",  "Tanh", "ThresholdedRelu"};

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& ops, const OnnxNode& node) {
  return node.domain.empty() && std::find(ops.begin(), ops.end(), node.op) != ops.end();
}

// With as many dimensions as recordings have: what is too many is folded into the first.
Shape folded(const OnnxShape& sizes) {
  Shape shape;
  const std::size_t extra =
      sizes.size() > Shape::dimensions_max ? sizes.size() - Shape::dimensions_max : 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0 && i <= extra) {
      shape[0] *= sizes[i];  // Bounded: the bytes of all are.
    } else {
      shape.push_back(sizes[i]);
    }
  }
  return shape;
}

// In the elements that recordings have; other types as bytes, in a last dimension of their size.
Meta meta_of(const OnnxShape& sizes, std::uint64_t type) {
  const OnnxType& stored = *find_onnx_type(type);
  if (stored.name == "FLOAT") return {folded(sizes), Element::fp32};
  if (stored.name == "FLOAT16") return {folded(sizes), Element::fp16};
  if (stored.name == "BFLOAT16") return {folded(sizes), Element::bf16};
  if (stored.name == "INT64") return {folded(sizes), Element::int64};
  if (stored.name == "INT32") return {folded(sizes), Element::int32};
  if (stored.bits == 8) return {folded(sizes), Element::uint8};
  if (stored.bits < 8) return {{onnx_bytes(sizes, type).value_or(0)}, Element::uint8};
  OnnxShape bytes = sizes;
  bytes.push_back(stored.bits / 8);
  return {folded(bytes), Element::uint8};
}

constexpr std::size_t never = SIZE_MAX;  // The end of the run.

// Memory that one or more values share, and the node after which it goes back.
struct Buffer {
  std::string name;
  Meta meta;
  std::size_t made_by = 0;
  std::size_t last_use = 0;
};

// Which values share memory, and how long each memory lives: ONNX Runtime's allocation plan.
class AllocationPlan {
 public:
  AllocationPlan(const OnnxModel& model, const OnnxShapes& shapes)
      : model_(model), shapes_(shapes) {
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      const OnnxNode& node = model.nodes[i];
      for (const auto* names : {&node.inputs, &node.inner_names}) {
        for (const std::string& name : *names) {
          last_use_[name] = i;
          ++uses_[name];
        }
      }
    }
    for (const OnnxValue& output : model.outputs) {
      last_use_[output.name] = never;
      ++uses_[output.name];
    }
  }

  Status make() {
    for (const OnnxTensor& weight : model_.weights) there_.insert(weight.name);
    for (const OnnxValue& input : model_.inputs) there_.insert(input.name);
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const OnnxNode& node = model_.nodes[i];
      HEADROOM_CHECK(check_inputs(node));
      for (const std::string& output : node.outputs) {
        if (output.empty()) continue;
        there_.insert(output);
        place(i, node, output);
      }
    }
    return Done{};
  }

  // In the order in which they are made.
  const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  Status check_inputs(const OnnxNode& node) const {
    for (const std::string& name : node.inputs) {
      if (name.empty() || there_.contains(name)) continue;
      return Error{Errc::invalid,
                   fmt::format("node {} ({}): expected its input {} to be made by a node before "
                               "it, found no such node",
                               node.name, node.op, name),
                   "check the file: python3 -m onnx.checker MODEL.onnx, and export it again"};
    }
    return Done{};
  }

  void place(std::size_t i, const OnnxNode& node, const std::string& output) {
    const auto fact = shapes_.facts.find(output);
    if (fact == shapes_.facts.end() || !fact->second.shape) return;
    if (fact->second.values) return;  // Sizes are computed on the host.
    const auto used = last_use_.find(output);
    const std::size_t last_use = used == last_use_.end() ? i : used->second;
    const Meta meta = meta_of(*fact->second.shape, fact->second.type);
    if (const auto shared = shared_with(i, node, output, meta)) {
      buffer_of_[output] = *shared;
      buffers_[*shared].last_use = std::max(buffers_[*shared].last_use, last_use);
      return;
    }
    buffer_of_[output] = buffers_.size();
    producer_[output] = &node;
    buffers_.push_back({output, meta, i, last_use});
  }

  // The buffer of the input that the output is a view of, or is written over.
  std::optional<std::size_t> shared_with(std::size_t i, const OnnxNode& node,
                                         const std::string& output, const Meta& meta) const {
    if (node.inputs.empty() || output != node.outputs.front()) return std::nullopt;
    const std::string& input = node.inputs.front();
    const auto buffer = buffer_of_.find(input);
    if (buffer == buffer_of_.end() || buffers_[buffer->second].meta.bytes() != meta.bytes())
      return std::nullopt;
    const bool is_view = is_one_of(view_ops, node) || (node.op == "Dropout" && node.domain.empty());
    const bool is_last = buffers_[buffer->second].last_use == i;
    const bool is_folded = node.op == "BatchNormalization" && is_only_use_of_conv(input);
    if (is_view || is_folded || (is_one_of(in_place_ops, node) && is_last)) return buffer->second;
    return std::nullopt;
  }

  bool is_only_use_of_conv(const std::string& name) const {
    const auto producer = producer_.find(name);
    const auto uses = uses_.find(name);
    return producer != producer_.end() && producer->second->op == "Conv" && uses != uses_.end() &&
           uses->second == 1;
  }

  const OnnxModel& model_;
  const OnnxShapes& shapes_;
  std::map<std::string, std::size_t> last_use_;
  std::map<std::string, std::size_t> uses_;
  std::map<std::string, std::size_t> buffer_of_;
  std::map<std::string, const OnnxNode*> producer_;
  std::set<std::string> there_;
  std::vector<Buffer> buffers_;
};

void record_load(const OnnxModel& model, Recorder& recorder) {
  recorder.enter(Phase::load);
  for (const OnnxTensor& weight : model.weights) {
    if (weight.bytes > 0)
      recorder.allocate(recorder.intern(weight.name), 0, meta_of(weight.shape, weight.type),
                        Component::weights);
  }
}

void record_inputs(const OnnxModel& model, const OnnxShapes& shapes, Recorder& recorder) {
  recorder.enter(Phase::forward);
  for (const OnnxValue& input : model.inputs) {
    const auto fact = shapes.facts.find(input.name);
    if (fact == shapes.facts.end() || !fact->second.shape) continue;
    recorder.allocate(recorder.intern(input.name), 0,
                      meta_of(*fact->second.shape, fact->second.type), Component::activations);
  }
}

void record_nodes(const std::vector<Buffer>& buffers, std::size_t nodes, Recorder& recorder) {
  std::vector<std::vector<std::uint32_t>> ends(nodes);
  auto next = buffers.begin();
  for (std::size_t i = 0; i < nodes; ++i) {
    for (; next != buffers.end() && next->made_by == i; ++next) {
      const std::uint32_t tensor =
          recorder.allocate(recorder.intern(next->name), 0, next->meta, Component::activations);
      if (next->last_use != never) ends[next->last_use].push_back(tensor);
    }
    for (const std::uint32_t tensor : ends[i]) recorder.release(tensor);
  }
}

}  // namespace

OnnxBinding binding_of(const Job& job) {
  OnnxBinding binding;
  binding.batch = job.batch.micro.value_or(1);
  binding.sequence = job.batch.sequence;
  binding.shapes = job.model.shapes;
  return binding;
}

Result<Recording> record_onnx(const Job& job, const OnnxModel& model) {
  if (job.method.kind != MethodKind::inference) {
    return Error{Errc::unsupported,
                 fmt::format("an ONNX file is run, not trained: expected "
                             "\"inference\", found \"{}\"",
                             to_string(job.method.kind)),
                 "write [method] kind = \"inference\""}
        .at("method.kind");
  }
  HEADROOM_TRY(const OnnxShapes shapes, infer_onnx_shapes(model, binding_of(job)));
  AllocationPlan plan(model, shapes);
  HEADROOM_CHECK(plan.make());
  Recorder recorder;
  record_load(model, recorder);
  record_inputs(model, shapes, recorder);
  record_nodes(plan.buffers(), model.nodes.size(), recorder);
  return recorder.take();
}

}  // namespace headroom::estimate
