// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace headroom::allocator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr Address base = 64 * mib;

LiveBlock block(Address address, std::uint64_t bytes, Component tag = Component::activations) {
  return {.address = address, .bytes = bytes, .requested_bytes = bytes, .tag = tag};
}

// [0,1) live, [1,7) free, [7,8) live, [8,12) free and pending, [12,16) free: MiB of one stretch.
HeapView small_heap() {
  HeapView view;
  view.request = {20 * mib, Component::logits, 0};
  view.capacity_bytes = 16 * mib;
  view.usage.reserved_bytes = 16 * mib;
  view.spans = {{base, 16 * mib, 0, true}};
  view.blocks = {block(base, mib), block(base + 7 * mib, mib, Component::optimizer)};
  for (const LiveBlock& b : view.blocks) {
    view.usage.live[b.tag] += b.bytes;
    view.usage.live_bytes += b.bytes;
  }
  view.free = {{base + mib, 6 * mib, 0, false},
               {base + 8 * mib, 4 * mib, 1, true},
               {base + 12 * mib, 4 * mib, 0, false}};
  return view;
}

TEST(Diagnose, free_memory_is_split_by_what_keeps_it_from_use) {
  const OutOfMemory problem = diagnose(small_heap());
  ASSERT_TRUE(problem.heap);
  EXPECT_EQ(problem.free_bytes, 14 * mib);
  EXPECT_EQ(problem.heap->split.stream_bytes, 4 * mib);
  EXPECT_EQ(problem.heap->split.soft_bytes, 8 * mib);  // [2,6) and [12,16).
  EXPECT_EQ(problem.heap->split.hard_bytes, 2 * mib);  // [1,2) and [6,7).
  EXPECT_EQ(problem.largest_free_bytes, 6 * mib);
  EXPECT_EQ(problem.waiting_bytes, 4 * mib);
  EXPECT_EQ(problem.fits_bytes, 12 * mib);  // Six pages, once the other stream is done.
  EXPECT_EQ(problem.heap->defragmented_bytes, 14 * mib);
}

TEST(Diagnose, spare_memory_joins_what_can_be_moved) {
  HeapView view = small_heap();
  view.spare_bytes = 6 * mib;
  const OutOfMemory problem = diagnose(view);
  EXPECT_EQ(problem.spare_bytes, 6 * mib);
  EXPECT_EQ(problem.fits_bytes, 18 * mib);
  EXPECT_EQ(problem.heap->defragmented_bytes, 20 * mib);
}

// Of the last two free pages one shares a handle with something live.
TEST(Diagnose, a_page_whose_handle_is_held_by_another_block_cannot_be_moved) {
  HeapView view = small_heap();
  view.free.back().pinned_bytes = 2 * mib;
  const OutOfMemory problem = diagnose(view);
  ASSERT_TRUE(problem.heap);
  EXPECT_EQ(problem.heap->split.soft_bytes, 6 * mib);
  EXPECT_EQ(problem.heap->split.hard_bytes, 4 * mib);
  EXPECT_EQ(problem.fits_bytes, 10 * mib);
}

TEST(Diagnose, a_plain_allocation_can_only_be_released_as_a_whole) {
  HeapView view = small_heap();
  view.spans = {{base, 8 * mib, 0, false},
                {base + 8 * mib, 4 * mib, 0, false},
                {base + 12 * mib, 4 * mib, 0, false}};
  const OutOfMemory problem = diagnose(view);
  EXPECT_EQ(problem.heap->split.soft_bytes, 4 * mib);
  EXPECT_EQ(problem.heap->split.hard_bytes, 6 * mib);
  // The second and third are neighbours by chance and no single piece.
  EXPECT_EQ(problem.fits_bytes, 8 * mib);
  view.free[1].pending = false;
  EXPECT_EQ(diagnose(view).largest_free_bytes, 6 * mib);
}

TEST(Diagnose, the_order_of_pieces_does_not_matter) {
  HeapView view = small_heap();
  std::reverse(view.free.begin(), view.free.end());
  std::reverse(view.spans.begin(), view.spans.end());
  EXPECT_EQ(diagnose(view).heap->split.soft_bytes, 8 * mib);
  EXPECT_EQ(diagnose(view).fits_bytes, 12 * mib);
}

TEST(Diagnose, rounding_is_what_blocks_hold_beyond_what_was_asked_for) {
  HeapView view = small_heap();
  view.blocks[0].requested_bytes = mib - 100;
  view.blocks[1].requested_bytes = mib - 11;
  EXPECT_EQ(diagnose(view).heap->split.rounding_bytes, 111U);
}

TEST(Diagnose, owners_are_blocks_alike_and_the_ten_largest_are_named) {
  NameTable names;
  HeapView view;
  view.names = &names;
  const NameId mlp = names.intern("layer.mlp");
  view.request.tag = Component::logits;
  view.request.name = names.intern("lm_head");
  for (std::uint64_t i = 0; i < 24; ++i) {
    view.blocks.push_back(block(base + i * mib, 64 * kib));
    view.blocks.back().name = mlp;
  }
  view.blocks.push_back(block(base + 24 * mib, 64 * kib));
  view.blocks.push_back(block(base + 25 * mib, 900 * kib, Component::weights));
  for (std::uint64_t i = 1; i < 20; ++i)
    view.blocks.push_back(block(base + (30 + i) * mib, i * 512));
  const OutOfMemory problem = diagnose(view);
  ASSERT_EQ(problem.heap->owners.size(), 10U);
  EXPECT_EQ(problem.heap->owners[0], (Owner{Component::activations, "layer.mlp", 64 * kib, 24}));
  EXPECT_EQ(problem.heap->owners[1], (Owner{Component::weights, "", 900 * kib, 1}));
  EXPECT_EQ(problem.heap->owners[2], (Owner{Component::activations, "", 64 * kib, 1}));
  EXPECT_EQ(problem.heap->owners[9].block_bytes, 13 * 512U);
  EXPECT_EQ(problem.heap->largest, (Owner{Component::weights, "", 900 * kib, 1}));
  EXPECT_EQ(problem.heap->blocks, 45U);
  EXPECT_EQ(problem.name, "lm_head");
  EXPECT_THAT(to_text(problem), HasSubstr("logits of lm_head asked for"));
}

TEST(Diagnose, the_same_tensor_of_many_layers_is_one_owner) {
  NameTable names;
  HeapView view;
  view.names = &names;
  for (std::uint64_t i = 0; i < 36; ++i) {
    view.blocks.push_back(block(base + i * mib, 86 * kib));
    view.blocks.back().name = names.intern("layers." + std::to_string(i) + ".mlp.down_proj");
  }
  view.blocks.push_back(block(base + 40 * mib, 86 * kib));
  view.blocks.back().name = names.intern("layers.7.norm");
  const OutOfMemory problem = diagnose(view);
  ASSERT_EQ(problem.heap->owners.size(), 2U);
  EXPECT_EQ(problem.heap->owners[0],
            (Owner{Component::activations, "layers.*.mlp.down_proj", 86 * kib, 36}));
  EXPECT_EQ(problem.heap->owners[1].name, "layers.7.norm");
}

TEST(Diagnose, age_counts_iterations_where_they_are_known) {
  HeapView view = small_heap();
  view.now = 500;
  view.iterations = {100, 200, 300};
  const std::vector<std::uint64_t> births = {5, 150, 200, 299, 300, 450};
  view.blocks.clear();
  for (std::size_t i = 0; i < births.size(); ++i) {
    view.blocks.push_back(block(base + i * kib, 1U << i));
    view.blocks.back().birth = births[i];
  }
  const OutOfMemory problem = diagnose(view);
  EXPECT_EQ(problem.heap->age_unit, AgeUnit::iterations);
  const auto& ages = problem.heap->ages;
  ASSERT_EQ(ages.size(), 3U);
  EXPECT_EQ(ages[0].live[Component::activations], 16U + 32U);
  EXPECT_EQ(ages[1].live[Component::activations], 4U + 8U);
  EXPECT_EQ(ages[2].live[Component::activations], 1U + 2U);
  EXPECT_FALSE(ages[2].below);
}

TEST(Diagnose, before_the_first_iteration_is_old_and_not_the_last_step) {
  HeapView view = small_heap();
  view.now = 500;
  view.iterations = {100};
  const OutOfMemory problem = diagnose(view);
  ASSERT_EQ(problem.heap->ages.size(), 1U);
  EXPECT_EQ(problem.heap->ages[0].from, 2U);
}

TEST(Diagnose, age_counts_events_where_iterations_are_not_known) {
  HeapView view = small_heap();
  view.now = 200000;
  view.blocks[0].birth = 199500;
  view.blocks[1].birth = 3;
  const OutOfMemory problem = diagnose(view);
  EXPECT_EQ(problem.heap->age_unit, AgeUnit::events);
  ASSERT_EQ(problem.heap->ages.size(), 2U);
  EXPECT_EQ(problem.heap->ages[0].below, 1000U);
  EXPECT_EQ(problem.heap->ages[0].live[Component::activations], mib);
  EXPECT_EQ(problem.heap->ages[1].live[Component::optimizer], mib);
}

TEST(Diagnose, what_others_hold_is_what_is_neither_free_nor_ours) {
  HeapView view = small_heap();
  view.device_memory = DeviceMemory{24 * mib, 3 * mib, "hipMemGetInfo"};
  const OutOfMemory problem = diagnose(view);
  ASSERT_TRUE(problem.outside);
  EXPECT_EQ(problem.outside->held_bytes, 5 * mib);
  EXPECT_THAT(to_text(problem), HasSubstr("held outside this process: 5.0 MiB of the device's "
                                          "24.0 MiB, says hipMemGetInfo"));
  view.device_memory->free_bytes =
      99 * mib;  // As drivers of integrated GPUs have been seen to say.
  EXPECT_EQ(diagnose(view).outside->held_bytes, 0U);
}

TEST(Diagnose, the_largest_batch_with_and_without_fragmentation) {
  HeapView view = small_heap();
  view.batch = 9;
  BatchObserver observer;
  observer.observe({.batch = 2, .variable_bytes = 4 * mib, .constant_bytes = 2 * mib});
  observer.observe({.batch = 4, .variable_bytes = 8 * mib, .constant_bytes = 2 * mib});
  view.batch_line = observer.line();
  const OutOfMemory problem = diagnose(view);
  ASSERT_TRUE(problem.batch);
  EXPECT_EQ(problem.batch->batch, 9U);
  EXPECT_EQ(problem.batch->per_sample_bytes, 2 * mib);
  EXPECT_EQ(problem.batch->largest, 6U);               // (16 - 2 hard - 2 constant) / 2.
  EXPECT_EQ(problem.batch->largest_defragmented, 7U);  // (16 - 2) / 2.
  EXPECT_THAT(to_text(problem), HasSubstr("the largest that fits is 6, with defragmentation 7"));
}

TEST(Diagnose, an_empty_heap_is_explained_too) {
  const OutOfMemory problem = diagnose({});
  EXPECT_EQ(problem.free_bytes, 0U);
  EXPECT_TRUE(problem.heap->owners.empty());
  EXPECT_FALSE(problem.heap->largest);
  EXPECT_FALSE(to_text(problem).empty());
}

// Against a model that knows of every 512 bytes whether they are free, and of every page whether
// all of them are.
RC_GTEST_PROP(Diagnose, the_split_agrees_with_a_count_of_granules, ()) {
  constexpr std::uint64_t granule = 64 * kib;
  constexpr std::uint64_t per_page = 2 * mib / granule;
  enum class Granule : std::uint8_t { live, usable, pending };
  const auto pages = *rc::gen::inRange<std::uint64_t>(1, 12);
  std::vector<Granule> granules;
  while (granules.size() < pages * per_page) {
    const auto kind = *rc::gen::element(Granule::live, Granule::usable, Granule::pending);
    const auto length = *rc::gen::inRange<std::size_t>(1, 3 * per_page);
    granules.insert(granules.end(), length, kind);
  }
  granules.resize(pages * per_page);
  HeapView view;
  view.spans = {{base, pages * 2 * mib, 0, true}};
  FreeSplit expected;
  std::uint64_t movable = 0;
  for (std::uint64_t page = 0; page < pages; ++page) {
    const auto begin = granules.begin() + static_cast<std::ptrdiff_t>(page * per_page);
    const auto end = begin + static_cast<std::ptrdiff_t>(per_page);
    const std::uint64_t usable = std::count(begin, end, Granule::usable) * granule;
    const std::uint64_t live = std::count(begin, end, Granule::live) * granule;
    expected.stream_bytes += std::count(begin, end, Granule::pending) * granule;
    (usable == 2 * mib ? expected.soft_bytes : expected.hard_bytes) += usable;
    if (live == 0) movable += 2 * mib;
  }
  for (std::size_t i = 0; i < granules.size(); ++i) {
    if (granules[i] == Granule::live) continue;
    view.free.push_back({base + i * granule, granule, 0, granules[i] == Granule::pending});
  }
  const OutOfMemory problem = diagnose(view);
  RC_ASSERT(problem.heap->split.hard_bytes == expected.hard_bytes);
  RC_ASSERT(problem.heap->split.soft_bytes == expected.soft_bytes);
  RC_ASSERT(problem.heap->split.stream_bytes == expected.stream_bytes);
  RC_ASSERT(problem.fits_bytes >= movable);
}

TEST(OutOfMemoryText, shows_ages_owners_the_split_and_what_would_have_fitted) {
  HeapView view = small_heap();
  view.iterations = {0};
  view.blocks[0].requested_bytes = mib - 256;
  const std::string text = to_text(diagnose(view));
  for (const char* part :
       {"out of memory: logits asked for 20.0 MiB, live are 2.0 MiB of a capacity of 16.0 MiB\n",
        "this step", "    optimizer       1.0 MiB", "held by, of 2 blocks:",
        "       1.0 MiB =      1 x    1.0 MiB  optimizer\n", "hard            2.0 MiB",
        "soft            8.0 MiB", "stream          4.0 MiB", "rounding          256 B",
        "would have fitted: 12.0 MiB; with every free byte in one piece 14.0 MiB\n", "  next: "})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(OutOfMemoryText, a_program_without_a_job_file_is_not_sent_to_one) {
  OutOfMemory problem = diagnose(small_heap());
  problem.has_job_file = false;
  EXPECT_THAT(to_text(problem), AllOf(HasSubstr("raise the capacity by at least 6.0 MiB"),
                                      Not(HasSubstr("JOB.toml")), Not(HasSubstr("[device]"))));
  problem.request.bytes = 14 * mib;
  EXPECT_THAT(to_text(problem), HasSubstr("raise the capacity by at least 2.0 MiB"));
  problem.outside = OutsideMemory{0, problem.capacity_bytes, "a driver"};
  EXPECT_THAT(to_text(problem), Not(HasSubstr("raise the capacity"))) << "the GPU has no more";
}

}  // namespace
}  // namespace headroom::allocator
