// SPDX-License-Identifier: Apache-2.0
#include "estimate/explain_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "estimate/explain_plan.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t most_sums = 3;
constexpr std::uint32_t close_together = 8;  // Allocations between the two, one included.

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

// As torch.cat joins them: all axes but one are equal, the joined one is the last that differs (or
// the first, where none does).
std::optional<Shape> joined(const Meta& a, const Meta& b) {
  if (a.element != b.element || a.shape.size() != b.shape.size() || a.shape.empty())
    return std::nullopt;
  std::size_t axis = 0;
  int different = 0;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] == b.shape[i]) continue;
    axis = i;
    ++different;
  }
  if (different > 1) return std::nullopt;
  Shape shape = a.shape;
  shape[axis] += b.shape[axis];
  return shape;
}

class Sums {
 public:
  Sums(const PrintedSize& printed, const Recording& recording)
      : printed_(printed), recording_(recording), lives_(recording.tensors.size()) {
    for (std::size_t i = 0; i < recording.events.size(); ++i) {
      const Event& event = recording.events[i];
      if (event.kind == Event::Kind::allocate) lives_[event.tensor].begin = i;
      if (event.kind == Event::Kind::release) lives_[event.tensor].end = i;
    }
  }

  std::vector<TensorMatch> run() {
    const auto count = static_cast<std::uint32_t>(recording_.tensors.size());
    for (std::uint32_t second = 1; second < count; ++second) {
      const std::uint32_t from = second - std::min(second, close_together);
      for (std::uint32_t first = from; first < second; ++first) try_pair(first, second);
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const TensorMatch& a, const TensorMatch& b) { return a.doubt < b.doubt; });
    if (found_.size() > most_sums) found_.resize(most_sums);
    for (std::size_t i = 1; i < found_.size(); ++i)
      found_[i].rank = found_[i - 1].rank + (found_[i].doubt > found_[i - 1].doubt ? 1U : 0U);
    return std::move(found_);
  }

 private:
  struct Life {
    std::size_t begin = 0;
    std::size_t end = never;
  };

  void try_pair(std::uint32_t first, std::uint32_t second) {
    const Meta& a = recording_.tensors[first].meta;
    const Meta& b = recording_.tensors[second].meta;
    const std::uint64_t bytes = a.bytes() + b.bytes();
    if (bytes < a.bytes() || !printed_.stands_for(bytes)) return;
    const auto shape = joined(a, b);
    if (!shape || lives_[first].end < lives_[second].begin || !share_layer(first, second)) return;
    const std::string names = without_numbers(recording_.name_of(first)) + " + " +
                              without_numbers(recording_.name_of(second));
    if (!seen_.insert(names).second) return;
    TensorMatch match = to_match(recording_.describe(first), printed_);
    match.tensor = recording_.name_of(first) + " + " + recording_.name_of(second);
    match.shape = *shape;
    match.bytes = bytes;
    match.formula = fmt::format("{} × {} B", fmt::join(*shape, " × "), size_of(a.element));
    const auto size = static_cast<double>(printed_.size.value);
    match.error = std::abs(static_cast<double>(bytes) - size) / size;
    const bool alike = a == b;
    const bool adjacent = second - first == 1;
    match.doubt = alike && adjacent ? 1 : alike || adjacent ? 2 : 3;
    match.assumes.emplace_back("the two as one tensor, as where they are fused or joined");
    found_.push_back(std::move(match));
  }

  // A layer's scope is opened anew for every pass: who shares it was made in the same one.
  bool share_layer(std::uint32_t a, std::uint32_t b) const {
    const auto layer = layer_of(a);
    return layer && layer == layer_of(b);
  }

  std::optional<std::uint32_t> layer_of(std::uint32_t tensor) const {
    for (std::uint32_t scope = recording_.tensors[tensor].scope; scope != 0;
         scope = recording_.scopes[scope].parent) {
      if (recording_.scopes[scope].index != Recording::no_index) return scope;
    }
    return std::nullopt;
  }

  const PrintedSize& printed_;
  const Recording& recording_;
  std::vector<Life> lives_;
  std::set<std::string> seen_;
  std::vector<TensorMatch> found_;
};

}  // namespace

std::vector<TensorMatch> find_sums(const PrintedSize& printed, const Recording& recording) {
  if (printed.is_shared_segment()) return {};
  return Sums(printed, recording).run();
}

}  // namespace headroom::estimate
