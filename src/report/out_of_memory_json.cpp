// SPDX-License-Identifier: Apache-2.0
#include "report/out_of_memory_json.h"

#include "base/document.h"
#include "report/component_json.h"

namespace headroom::report {
namespace {

using allocator::AgeBand;
using allocator::AgeUnit;
using allocator::BatchBasis;
using allocator::BatchForecast;
using allocator::HeapDetail;
using allocator::OutOfMemory;
using allocator::OutsideMemory;
using allocator::Owner;

Json band_json(const AgeBand& band) {
  Json json = {{"from", band.from}, {"components", to_json(band.live)}};
  if (band.below) json["below"] = *band.below;
  return json;
}

Json owner_json(const Owner& owner) {
  return {{"component", to_string(owner.tag)},
          {"name", owner.name},
          {"block_bytes", owner.block_bytes},
          {"count", owner.count},
          {"bytes", owner.bytes()}};
}

Json heap_json(const HeapDetail& heap) {
  Json json = {{"blocks", heap.blocks},
               {"age_unit", heap.age_unit == AgeUnit::iterations ? "iterations" : "events"},
               {"ages", Json::array()},
               {"owners", Json::array()},
               {"hard_bytes", heap.split.hard_bytes},
               {"soft_bytes", heap.split.soft_bytes},
               {"stream_bytes", heap.split.stream_bytes},
               {"rounding_bytes", heap.split.rounding_bytes},
               {"defragmented_bytes", heap.defragmented_bytes}};
  for (const AgeBand& band : heap.ages) json["ages"].push_back(band_json(band));
  for (const Owner& owner : heap.owners) json["owners"].push_back(owner_json(owner));
  if (heap.largest) json["largest_block"] = owner_json(*heap.largest);
  return json;
}

Json outside_json(const OutsideMemory& outside) {
  return {{"held_bytes", outside.held_bytes},
          {"total_bytes", outside.total_bytes},
          {"source", outside.source}};
}

Json batch_json(const BatchForecast& batch) {
  return {{"batch", batch.batch},
          {"basis", batch.basis == BatchBasis::proportional ? "proportional" : "observed"},
          {"per_sample_bytes", batch.per_sample_bytes},
          {"largest", batch.largest},
          {"largest_defragmented", batch.largest_defragmented}};
}

}  // namespace

Json to_json(const OutOfMemory& problem) {
  return {{"requested_bytes", problem.request.bytes},
          {"component", to_string(problem.request.tag)},
          {"name", problem.name},
          {"capacity_bytes", problem.capacity_bytes},
          {"live_bytes", problem.usage.live_bytes},
          {"reserved_bytes", problem.usage.reserved_bytes},
          {"free_bytes", problem.free_bytes},
          {"largest_free_bytes", problem.largest_free_bytes},
          {"spare_bytes", problem.spare_bytes},
          {"fits_bytes", problem.fits_bytes},
          {"components", to_json(problem.usage.live)},
          {"heap", problem.heap ? heap_json(*problem.heap) : Json(nullptr)},
          {"outside", problem.outside ? outside_json(*problem.outside) : Json(nullptr)},
          {"batch", problem.batch ? batch_json(*problem.batch) : Json(nullptr)},
          {"message", to_error(problem).message}};
}

void add_missing(const OutOfMemory& problem, const std::string& at, Json& missing) {
  if (!problem.heap) missing[at + "/heap"] = "the allocator did not list its blocks";
  if (!problem.outside)
    missing[at + "/outside"] = problem.no_outside ? problem.no_outside->message
                                                  : "the device was not asked what others hold";
  if (!problem.batch)
    missing[at + "/batch"] = "no step was finished, or larger batches did not take more memory";
}

}  // namespace headroom::report
