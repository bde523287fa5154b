// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/scheduler.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace headroom::estimate::llama {
namespace {

struct Split {
  std::uint32_t backend = 0;
  std::size_t begin = 0;
  std::vector<TensorId> inputs;
};

// Rows of the operation as a GPU's backend counts them, when it is asked to take it over.
std::uint64_t batch_of(const Tensor& tensor) {
  switch (tensor.op) {
    case Op::get_rows:
      return 0;
    case Op::mul_mat:
      return tensor.ne[1];
    case Op::mul_mat_id:
    case Op::rope:
      return tensor.ne[2];
    default:
      return tensor.rows();
  }
}

class Scheduler {
 public:
  Scheduler(Graph& graph, const SchedulerOptions& options)
      : graph_(graph), options_(options), backend_(graph.size()) {}

  Schedule make() {
    for (const TensorId leaf : graph_.leafs()) backend_[leaf] = start_of(leaf);
    for (const TensorId node : graph_.nodes()) backend_[node] = start_of(node);
    spread_gpus(false);
    spread_gpus(true);
    spread_rest(false);
    spread_rest(true);
    assign_sources();
    split();
    return schedule();
  }

 private:
  using Backend = std::optional<std::uint32_t>;

  std::uint32_t cpu() const { return options_.backends - 1; }
  const Tensor& root_of(TensorId id) const {
    const Tensor& tensor = graph_.at(id);
    return tensor.view_of ? graph_.at(*tensor.view_of) : tensor;
  }

  Backend start_of(TensorId id) const {
    const Tensor& tensor = graph_.at(id);
    if (tensor.forced_on) return tensor.forced_on;
    if (root_of(id).held_on) return root_of(id).held_on;
    if (tensor.is_input) return cpu();
    if (tensor.op == Op::rope || tensor.op == Op::flash_attention) return std::nullopt;
    for (const TensorId source : tensor.sources) {
      const Tensor& weight = graph_.at(source);
      if (!weight.is_weight || !weight.held_on) continue;
      const bool on_cpu = *weight.held_on == cpu() && cpu() > 0;
      if (on_cpu && options_.offloads && batch_of(tensor) >= options_.offloaded_from) return 0;
      return weight.held_on;
    }
    return std::nullopt;
  }

  template <class Visit>
  void each_operation(bool upwards, Visit visit) {
    const auto& nodes = graph_.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const TensorId id = nodes[upwards ? nodes.size() - 1 - i : i];
      if (graph_.at(id).op != Op::view) visit(id);
    }
  }

  // Neighbours of what runs on a GPU run there too; the CPU does not spread yet.
  void spread_gpus(bool upwards) {
    Backend current;
    each_operation(upwards, [&](TensorId id) {
      if (!backend_[id]) {
        backend_[id] = current;
      } else {
        current = *backend_[id] == cpu() ? Backend() : backend_[id];
      }
    });
  }

  void spread_rest(bool upwards) {
    Backend current;
    each_operation(upwards, [&](TensorId id) {
      if (!backend_[id])
        backend_[id] = current;
      else
        current = backend_[id];
    });
  }

  void assign_sources() {
    for (const TensorId id : graph_.nodes()) {
      const Tensor& tensor = graph_.at(id);
      if (tensor.view_of && !backend_[id]) backend_[id] = backend_[*tensor.view_of];
      for (const TensorId source : tensor.sources) {
        if (backend_[source]) continue;
        const auto root = graph_.at(source).view_of;
        backend_[source] = root ? backend_[*root] : backend_[id];
      }
      if (!backend_[id]) backend_[id] = 0;
    }
  }

  // A weight that is in the way of a split already filled: what was copied for it can be freed.
  bool starts_anew(const Tensor& tensor, const Split& split) const {
    if (split.inputs.empty()) return false;
    for (const TensorId source : tensor.sources) {
      const Tensor& weight = graph_.at(source);
      if (weight.is_weight && weight.held_on && *weight.held_on != split.backend) return true;
    }
    return false;
  }

  void split() {
    const auto& nodes = graph_.nodes();
    std::size_t i = 0;
    while (i < nodes.size() && graph_.at(nodes[i]).op == Op::view) ++i;
    if (i == nodes.size()) return;
    splits_.push_back({*backend_[nodes[i]], 0, {}});
    for (; i < nodes.size(); ++i) {
      const TensorId id = nodes[i];
      if (graph_.at(id).op == Op::view) continue;
      const std::uint32_t own = *backend_[id];
      if (own != splits_.back().backend || starts_anew(graph_.at(id), splits_.back()))
        splits_.push_back({own, i, {}});
      take_inputs(id, splits_.back());
    }
  }

  void take_inputs(TensorId id, Split& split) {
    for (std::size_t j = 0; j < graph_.at(id).sources.size(); ++j) {
      const TensorId source = graph_.at(id).sources[j];
      read_.insert(source);
      const Tensor& root = root_of(source);
      const std::uint32_t place = root.held_on.value_or(backend_[source].value_or(0));
      if (place == split.backend) continue;
      auto& copies = copies_[{source, split.backend}];
      if (copies.empty()) {
        for (std::uint32_t c = 0; c < options_.copies; ++c)
          copies.push_back(copy(source, split.backend));
        split.inputs.push_back(source);
      }
      graph_.at(id).sources[j] = copies.front();
    }
  }

  TensorId copy(TensorId source, std::uint32_t backend) {
    const TensorId made = graph_.add_copy(source);
    backend_.resize(graph_.size());
    backend_[made] = backend;
    if (options_.copies > 1) graph_.at(made).is_input = graph_.at(made).is_output = true;
    return made;
  }

  // Nothing reads it; it keeps its sources alive until the copy is made.
  TensorId hold(const std::vector<TensorId>& sources) {
    const TensorId first = sources.front();
    const TensorId made = graph_.add_copy(first);
    backend_.resize(graph_.size());
    backend_[made] = backend_[first];
    graph_.at(made).sources = sources;
    graph_.at(made).view_of = graph_.at(first).view_of.value_or(first);
    return made;
  }

  // Behind the node at `i`: what a fused operation that ends here has kept, or one node earlier.
  void let_go(const std::vector<TensorId>& nodes, std::size_t i, Schedule& schedule) {
    const auto release = [&](TensorId last, bool one_more) {
      const auto [from, to] = kept_.equal_range(last);
      for (auto found = from; found != to; ++found) {
        if (found->second->one_more != one_more || backend_[last] == cpu()) continue;
        schedule.nodes.push_back({hold(found->second->tensors), backend_[nodes[i]].value_or(0)});
      }
    };
    release(nodes[i], false);
    if (i > 0) release(nodes[i - 1], true);
  }

  void add_copies_as_leafs(Schedule& schedule) {
    if (options_.copies < 2) return;
    for (const TensorId leaf : graph_.leafs()) {
      if (!graph_.at(leaf).is_input) continue;
      if (!options_.copies_unread && !read_.contains(leaf)) continue;
      graph_.at(leaf).is_output = true;
      schedule.leafs.push_back({leaf, cpu()});
      for (std::uint32_t c = 1; c < options_.copies; ++c)
        schedule.leafs.push_back({copy(leaf, cpu()), cpu()});
    }
    for (const Split& split : splits_)
      for (const TensorId input : split.inputs)
        for (const TensorId made : copies_[{input, split.backend}])
          schedule.leafs.push_back({made, split.backend});
  }

  Schedule schedule() {
    Schedule schedule;
    schedule.splits = splits_.size();
    for (const Kept& kept : graph_.kept()) kept_.emplace(kept.last, &kept);
    add_copies_as_leafs(schedule);
    for (const TensorId leaf : graph_.leafs())
      schedule.leafs.push_back({leaf, backend_[leaf].value_or(cpu())});
    const std::vector<TensorId> nodes = graph_.nodes();
    for (std::size_t s = 0; s < splits_.size(); ++s) {
      const Split& split = splits_[s];
      for (const TensorId input : split.inputs) {
        schedule.nodes.push_back({hold({input}), backend_[input].value_or(0)});
        schedule.nodes.push_back({copies_[{input, split.backend}].front(), split.backend});
      }
      const std::size_t end = s + 1 < splits_.size() ? splits_[s + 1].begin : nodes.size();
      for (std::size_t i = split.begin; i < end; ++i) {
        schedule.nodes.push_back({nodes[i], backend_[nodes[i]].value_or(0)});
        let_go(nodes, i, schedule);
      }
    }
    return schedule;
  }

  Graph& graph_;
  const SchedulerOptions& options_;
  std::vector<Backend> backend_;
  std::vector<Split> splits_;
  std::set<TensorId> read_;
  std::multimap<TensorId, const Kept*> kept_;  // By their last operations.
  std::map<std::pair<TensorId, std::uint32_t>, std::vector<TensorId>> copies_;
};

}  // namespace

Schedule make_schedule(Graph& graph, const SchedulerOptions& options) {
  return Scheduler(graph, options).make();
}

}  // namespace headroom::estimate::llama
