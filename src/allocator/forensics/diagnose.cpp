// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/diagnose.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "allocator/forensics/free_memory.h"
#include "allocator/forensics/owners.h"

namespace headroom::allocator {
namespace {

constexpr std::size_t owner_count = 10;

// Each band begins at the age given here and ends where the next one begins.
constexpr std::array<std::uint64_t, 3> iteration_bands = {0, 1, 2};
constexpr std::array<std::uint64_t, 3> event_bands = {0, 1000, 100000};

class Ages {
 public:
  explicit Ages(const HeapView& view)
      : view_(view), by_iteration_(!view.iterations.empty()), now_(view.now) {
    const auto& froms = by_iteration_ ? iteration_bands : event_bands;
    for (std::size_t i = 0; i < froms.size(); ++i) {
      bands_.emplace_back();
      bands_.back().from = froms.at(i);
      if (i + 1 < froms.size()) bands_.back().below = froms.at(i + 1);
    }
    for (const LiveBlock& block : view.blocks) now_ = std::max(now_, block.birth);
  }

  void add(const LiveBlock& block) {
    const std::uint64_t age = by_iteration_ ? iterations(block) : events(block);
    std::size_t band = bands_.size() - 1;
    while (band > 0 && age < bands_[band].from) --band;
    bands_[band].live[block.tag] += block.bytes;
  }

  AgeUnit unit() const { return by_iteration_ ? AgeUnit::iterations : AgeUnit::events; }
  std::vector<AgeBand> take() {
    std::erase_if(bands_, [](const AgeBand& band) { return band.live == ByComponent{}; });
    return std::move(bands_);
  }

 private:
  std::uint64_t events(const LiveBlock& block) const { return now_ - block.birth; }
  // How many iterations have begun since the block was born. A block older than all known
  // iterations dates from the program's start, or from soon after it.
  std::uint64_t iterations(const LiveBlock& block) const {
    if (block.birth < view_.iterations.front()) return iteration_bands.back();
    std::uint64_t begun = 0;
    for (auto start = view_.iterations.rbegin();
         start != view_.iterations.rend() && *start > block.birth && begun < iteration_bands.back();
         ++start)
      ++begun;
    return begun;
  }

  const HeapView& view_;
  bool by_iteration_;
  std::uint64_t now_;  // At least the birth of the youngest block.
  std::vector<AgeBand> bands_;
};

HeapDetail detail_of(const HeapView& view, const FreeMemory& memory) {
  HeapDetail detail;
  detail.blocks = view.blocks.size();
  detail.split = memory.split;
  detail.defragmented_bytes = memory.bytes + view.spare_bytes;
  Ages ages(view);
  for (const LiveBlock& block : view.blocks) {
    ages.add(block);
    detail.split.rounding_bytes += block.bytes - std::min(block.bytes, block.requested_bytes);
  }
  detail.age_unit = ages.unit();
  detail.ages = ages.take();
  Owners owners = find_owners(view, owner_count);
  detail.owners = std::move(owners.most);
  detail.largest = std::move(owners.largest);
  return detail;
}

OutsideMemory outside_of(const DeviceMemory& device, std::uint64_t ours) {
  OutsideMemory outside;
  const std::uint64_t used = device.total_bytes - std::min(device.total_bytes, device.free_bytes);
  outside.held_bytes = used - std::min(used, ours);
  outside.total_bytes = device.total_bytes;
  outside.source = device.source;
  return outside;
}

BatchForecast forecast(const HeapView& view, const BatchLine& line, std::uint64_t hard_bytes) {
  BatchForecast batch;
  batch.batch = view.batch;
  batch.basis = line.basis;
  batch.per_sample_bytes =
      static_cast<std::uint64_t>(std::llround(std::min(line.per_sample_bytes, 9e18)));
  batch.largest = line.largest(view.capacity_bytes - std::min(view.capacity_bytes, hard_bytes));
  batch.largest_defragmented = line.largest(view.capacity_bytes);
  return batch;
}

}  // namespace

OutOfMemory diagnose(const HeapView& view) {
  OutOfMemory problem;
  problem.request = view.request;
  problem.capacity_bytes = view.capacity_bytes;
  problem.usage = view.usage;
  problem.spare_bytes = view.spare_bytes;
  problem.device = view.device;
  if (view.names != nullptr) problem.name = printable_name(view.names->name(view.request.name));
  const FreeMemory memory = measure_free(view);
  problem.free_bytes = memory.bytes;
  problem.largest_free_bytes = memory.largest_bytes;
  problem.waiting_bytes = memory.split.stream_bytes;
  problem.fits_bytes = memory.fits_bytes;
  problem.heap = detail_of(view, memory);
  if (view.device_memory)
    problem.outside = outside_of(*view.device_memory, view.usage.reserved_bytes);
  else
    problem.no_outside = view.device_memory.error();
  if (view.batch_line) problem.batch = forecast(view, *view.batch_line, memory.split.hard_bytes);
  return problem;
}

}  // namespace headroom::allocator
