// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/graph_allocator.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/bytes.h"

namespace headroom::estimate::llama {
namespace {

// One buffer that grows: gaps below its end by place.
class Arena {
 public:
  explicit Arena(std::uint64_t alignment) : alignment_(alignment) {}

  std::uint64_t aligned(std::uint64_t bytes) const { return round_up(bytes, alignment_); }
  std::uint64_t high_water() const { return high_water_; }

  std::uint64_t take(std::uint64_t bytes) {
    bytes = aligned(bytes);
    auto best = gaps_.end();
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      // Of gaps of one size ggml takes the last.
      if (gap->second >= bytes && (best == gaps_.end() || gap->second <= best->second)) best = gap;
    }
    if (best == gaps_.end()) {
      const std::uint64_t at = end_;
      end_ += bytes;
      high_water_ = std::max(high_water_, end_);
      return at;
    }
    const auto [at, size] = *best;
    gaps_.erase(best);
    if (size > bytes) gaps_.emplace(at + bytes, size - bytes);
    return at;
  }

  void give(std::uint64_t at, std::uint64_t bytes) {
    bytes = aligned(bytes);
    if (bytes == 0) return;
    auto gap = gaps_.emplace(at, bytes).first;
    if (const auto next = std::next(gap); next != gaps_.end() && at + bytes == next->first) {
      gap->second += next->second;
      gaps_.erase(next);
    }
    if (gap != gaps_.begin()) {
      const auto before = std::prev(gap);
      if (before->first + before->second == at) {
        before->second += gap->second;
        gaps_.erase(gap);
        gap = before;
      }
    }
    if (gap->first + gap->second == end_) {
      end_ = gap->first;
      gaps_.erase(gap);
    }
  }

 private:
  std::uint64_t alignment_;
  std::uint64_t end_ = 0;
  std::uint64_t high_water_ = 0;
  std::map<std::uint64_t, std::uint64_t> gaps_;
};

class Allocator {
 public:
  Allocator(const Graph& graph, const std::vector<std::uint64_t>& alignments)
      : graph_(graph), state_(graph.size()) {
    for (const std::uint64_t alignment : alignments) arenas_.emplace_back(alignment);
  }

  void run(const Schedule& schedule) {
    for (const Placed& leaf : schedule.leafs) allocate(leaf.tensor, leaf.backend);
    for (const Placed& node : schedule.nodes) count(node);
    for (const Placed& node : schedule.nodes) {
      for (const TensorId source : graph_.at(node.tensor).sources) allocate(source, node.backend);
      allocate(node.tensor, node.backend);
      for (const TensorId source : graph_.at(node.tensor).sources) release(source);
    }
  }

  std::vector<std::uint64_t> sizes() const {
    std::vector<std::uint64_t> sizes;
    for (const Arena& arena : arenas_) sizes.push_back(arena.high_water());
    return sizes;
  }

 private:
  struct State {
    bool allocated = false;
    std::uint32_t backend = 0;
    std::uint64_t at = 0;
    std::uint32_t readers = 0;
    std::uint32_t views = 0;
  };

  void count(const Placed& node) {
    const Tensor& tensor = graph_.at(node.tensor);
    if (tensor.view_of && tensor.op != Op::none) ++state_[*tensor.view_of].views;
    if (tensor.is_input) allocate(node.tensor, node.backend);
    for (const TensorId source : tensor.sources) {
      ++state_[source].readers;
      if (graph_.at(source).is_input) allocate(source, node.backend);
    }
  }

  std::uint64_t bytes_of(TensorId id, std::uint32_t backend) const {
    const bool on_gpu = backend + 1 < arenas_.size();
    return graph_.at(id).bytes() + (on_gpu ? graph_.at(id).extra_bytes : 0);
  }

  void allocate(TensorId id, std::uint32_t backend) {
    const Tensor& tensor = graph_.at(id);
    if (tensor.held_on || tensor.view_of || state_[id].allocated) return;
    state_[id].allocated = true;
    if (can_be_in_place(tensor.op) && take_place_of_operand(id)) return;
    state_[id].backend = backend;
    state_[id].at = arenas_[backend].take(bytes_of(id, backend));
  }

  bool take_place_of_operand(TensorId id) {
    const Tensor& tensor = graph_.at(id);
    for (const TensorId source : tensor.sources) {
      const Tensor& operand = graph_.at(source);
      // A view is never allocated itself, so that ggml takes its memory for somebody else's.
      if (operand.view_of || !state_[source].allocated || operand.is_output) continue;
      if (!tensor.has_layout_of(operand)) continue;
      if (state_[source].readers != 1 || state_[source].views != 0) continue;
      inherit(id, source);
      return true;
    }
    return false;
  }

  void inherit(TensorId id, TensorId from) {
    State& old = state_[from];
    state_[id].backend = old.backend;
    state_[id].at = old.at;
    old.allocated = false;
    Arena& arena = arenas_[old.backend];
    const std::uint64_t had = arena.aligned(bytes_of(from, old.backend));
    const std::uint64_t needs = arena.aligned(bytes_of(id, old.backend));
    if (had > needs) arena.give(old.at + needs, had - needs);
  }

  void release(TensorId source) {
    State& state = state_[source];
    --state.readers;
    if (state.readers != 0 || state.views != 0) return;
    if (const auto root = graph_.at(source).view_of) {
      State& held = state_[*root];
      --held.views;
      if (held.views == 0 && held.readers == 0 && held.allocated) give_back(*root);
    } else if (state.allocated) {
      give_back(source);
    }
  }

  void give_back(TensorId id) {
    if (graph_.at(id).is_output) return;
    State& state = state_[id];
    arenas_[state.backend].give(state.at, bytes_of(id, state.backend));
    state.allocated = false;
  }

  const Graph& graph_;
  std::vector<State> state_;
  std::vector<Arena> arenas_;
};

}  // namespace

std::vector<std::uint64_t> reserve(const Graph& graph, const Schedule& schedule,
                                   const std::vector<std::uint64_t>& alignments) {
  Allocator allocator(graph, alignments);
  allocator.run(schedule);
  return allocator.sizes();
}

}  // namespace headroom::estimate::llama
