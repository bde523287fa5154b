// SPDX-License-Identifier: Apache-2.0
// Snapshots: what the writer writes the reader reads, and what PyTorch's versions write it reads as
// well. The pickles here have the keys of torch/csrc/cuda/Module.cpp and memory_snapshot.cpp.
#include "allocator/snapshot/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/snapshot/pickle_writer.h"
#include "allocator/snapshot/snapshot_reader.h"
#include "allocator/snapshot/snapshot_writer.h"

namespace headroom::allocator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t base = std::uint64_t{0x7f12'0000'0000};

Snapshot example() {
  Snapshot snapshot;
  snapshot.device = 1;
  snapshot.names = {"", "layer 3 attention", "größer \"<b>\""};
  snapshot.settings = "max_split_size_mb:128";
  snapshot.segments.push_back(
      {base,
       20 * mib,
       0x55aa'0000'1234,
       true,
       {{base,
         4 * mib,
         4 * mib - 100,
         SnapshotBlockState::active_allocated,
         {Component::weights, 1}},
        {base + 4 * mib, 512, 1, SnapshotBlockState::active_awaiting_free, {Component::logits, 0}},
        {base + 4 * mib + 512, 16 * mib - 512, 0, SnapshotBlockState::inactive, {}}}});
  snapshot.segments.push_back({base + 64 * mib, 2 * mib});
  snapshot.events = {
      {SnapshotAction::segment_map, base, 20 * mib, 7, 1'700'000'000'000'000, {}},
      {SnapshotAction::alloc,
       base,
       4 * mib - 100,
       7,
       1'700'000'000'000'001,
       {Component::weights, 1}},
      {SnapshotAction::free_requested, base + 4 * mib, 1, 7, 0, {Component::other, 2}},
      {SnapshotAction::free_completed, base + 4 * mib, 1, 7, 0, {Component::other, 2}},
      {SnapshotAction::segment_alloc, base + 64 * mib, 2 * mib, 0, 0, {}},
      {SnapshotAction::segment_free, base + 128 * mib, 2 * mib, 0, 0, {}},
      {SnapshotAction::segment_unmap, base + 20 * mib, 2 * mib, 0, 0, {}},
      {SnapshotAction::oom, 300 * mib, 763 * mib, 0, 0, {Component::activations, 2}},
      {SnapshotAction::snapshot, 0, 0, 0, 0, {}}};
  return snapshot;
}

TEST(Snapshot, what_is_written_is_read_again) {
  const Snapshot written = example();
  const auto read = read_snapshot(to_pickle(written));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->snapshot.device, 1U);
  EXPECT_EQ(read->snapshot.settings, written.settings);
  EXPECT_EQ(read->snapshot.segments, written.segments);
  EXPECT_EQ(read->snapshot.events, written.events);
  EXPECT_EQ(read->snapshot.names, written.names);
}

TEST(Snapshot, numbers_of_every_size_survive) {
  Snapshot written;
  for (unsigned shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t less : {std::uint64_t{0}, std::uint64_t{1}}) {
      const std::uint64_t value = (std::uint64_t{1} << shift) - less;
      written.events.push_back({SnapshotAction::alloc, value, value + 1, value, value, {}});
    }
  }
  written.events.push_back(
      {SnapshotAction::alloc, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, {}});
  const auto read = read_snapshot(to_pickle(written));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->snapshot.events, written.events);
}

TEST(Snapshot, long_lists_and_many_names_survive) {
  Snapshot written;
  for (std::uint32_t i = 1; i < 3001; ++i) {
    written.names.push_back(std::to_string(i) + std::string(i % 150, 'x'));
    written.events.push_back(
        {SnapshotAction::alloc, base + std::uint64_t{i} * 512, 512, 0, i, {Component::other, i}});
  }
  const auto read = read_snapshot(to_pickle(written));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->snapshot.events, written.events);
  EXPECT_EQ(read->snapshot.names, written.names);
}

// Writes what PyTorch writes, with the keys given.
class TorchFile {
 public:
  using Keys = std::vector<std::pair<std::string, std::uint64_t>>;
  struct Frame {
    std::string name;
    std::string file;
    std::uint64_t line;
  };

  TorchFile() { out_.begin_dict(); }
  void begin(const std::string& key) { out_.text(key); }
  PickleWriter& out() { return out_; }

  void dict(const Keys& numbers, const std::string& key, const std::string& text,
            const std::vector<Frame>& frames) {
    out_.begin_dict();
    for (const auto& [name, value] : numbers) {
      out_.text(name);
      out_.integer(value);
    }
    out_.text(key);
    out_.text(text);
    out_.text("frames");
    out_.list(frames, [&](const Frame& frame) {
      out_.begin_dict();
      out_.text("line");
      out_.integer(frame.line);
      out_.text("name");
      out_.text(frame.name);
      out_.text("filename");
      out_.text(frame.file);
      out_.end_dict();
    });
    out_.end_dict();
  }
  std::string take() {
    out_.end_dict();
    return out_.take();
  }

 private:
  PickleWriter out_;
};

TEST(Snapshot, a_stack_is_named_after_the_innermost_line_of_the_program) {
  TorchFile file;
  file.begin("segments");
  file.out().list(std::vector<int>{}, [](int) {});
  file.begin("device_traces");
  file.out().list(std::vector<int>{0}, [&](int) {
    file.out().list(std::vector<int>{0, 1, 2}, [&](int which) {
      std::vector<TorchFile::Frame> frames = {
          {"empty_cuda", "/build/aten/src/ATen/native/cuda/EmptyTensor.cpp", 12},
          {"linear", "/usr/lib/python3/dist-packages/torch/nn/functional.py", 114},
          {"forward", "/project/model.py", 31},
          {"main", "/project/train.py", 7}};
      if (which == 1) frames.resize(2);
      if (which == 2) frames.clear();
      file.dict({{"addr", base + std::uint64_t{512} * static_cast<unsigned>(which)},
                 {"size", 5},
                 {"stream", 0}},
                "action", "alloc", frames);
    });
  });
  const auto read = read_snapshot(file.take());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_THAT(read->snapshot.names,
              ElementsAre("", "model.py:31 forward", "functional.py:114 linear"));
  EXPECT_EQ(read->snapshot.events[0].owner.name, 1U);
  EXPECT_EQ(read->snapshot.events[2].owner.name, 0U);
}

TEST(Snapshot, blocks_without_an_address_follow_each_other) {
  TorchFile file;
  file.begin("segments");
  file.out().list(std::vector<int>{0}, [&](int) {
    auto& out = file.out();
    out.begin_dict();
    out.text("address");
    out.integer(base);
    out.text("total_size");
    out.integer(2 * mib);
    out.text("stream");
    out.integer(0);
    out.text("blocks");
    out.list(std::vector<int>{0, 1}, [&](int which) {
      file.dict({{"size", mib}}, "state", which == 0 ? "active_awaiting_free" : "inactive", {});
    });
    out.end_dict();
  });
  const auto read = read_snapshot(file.take());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const auto& blocks = read->snapshot.segments.at(0).blocks;
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].state, SnapshotBlockState::active_awaiting_free);
  EXPECT_EQ(blocks[1].address, base + mib);
  EXPECT_EQ(blocks[1].requested_bytes, mib);
}

TEST(Snapshot, the_device_with_the_most_events_is_read_unless_another_is_named) {
  const std::string text = to_pickle(example());
  EXPECT_EQ(read_snapshot(text, 1)->snapshot.events.size(), 9U);
  const auto other = read_snapshot(text, 0);
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(other.error().message, HasSubstr("nothing of device 0; it has 1"));
  EXPECT_EQ(other.error().next, "--device 1");
}

TEST(Snapshot, other_pickles_are_refused_in_words) {
  const auto message = [](std::string_view text) {
    const auto read = read_snapshot(text);
    return read ? "read" : read.error().message + " | " + read.error().next;
  };
  EXPECT_THAT(message("\x80\x04K\x01."), HasSubstr("no memory snapshot"));
  EXPECT_THAT(message("}."), HasSubstr("no memory snapshot"));
  EXPECT_THAT(message("]."), HasSubstr("_record_memory_history()"));
  EXPECT_THAT(message("}(\x8c\x08segments]u."), HasSubstr("no segments and no events"));
  EXPECT_THAT(message("}(\x8c\x08segments](}e\x8c\x0d"
                      "device_traces](](K\x01"
                      "eeu."),
              HasSubstr("has no action"));
  EXPECT_THAT(message("}(\x8c\x08segments](}eu."),
              HasSubstr("segment 0 of the snapshot has no address"));
  EXPECT_THAT(message("cos\nsystem\n."), HasSubstr("GLOBAL"));
}

TEST(Snapshot, a_file_cannot_repeat_itself_into_billions_of_events) {
  std::string text =
      "}(\x8c\x08segments]\x8c\x0d"
      "device_traces](](";
  text +=
      "}(\x8c\x06"
      "action\x8c\x08snapshotu\x94";
  for (int i = 0; i < 1000; ++i) text += std::string("h\0", 2);
  text += "eeu.";
  const auto read = read_snapshot(text);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message, HasSubstr("repeats"));
}

TEST(Snapshot, nor_into_billions_of_segments) {
  std::string text =
      "}(\x8c\x08segments](}(\x8c\x07"
      "addressK\x01\x8c\x0atotal_sizeK\x02u\x94";
  for (int i = 0; i < 1000; ++i) text += std::string("h\0", 2);
  text += "eu.";
  const auto read = read_snapshot(text);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message, HasSubstr("repeats"));
}

}  // namespace
}  // namespace headroom::allocator
