// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/weight_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/files/file_weights.h"
#include "estimate/files/safetensors_header.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

std::string safetensors() {
  std::vector<NamedSafetensor> entries = {{"w", {.dtype = "F32", .shape = {3, 5}, .bytes = 60}},
                                          {"packed", {.dtype = "I32", .shape = {4}, .bytes = 16}}};
  return make_safetensors_header(entries, {}) + std::string(76, 'x');
}

TEST(WeightFile, safetensors_are_counted_by_their_header) {
  const std::string bytes = safetensors();
  const auto file = read_safetensors(MemoryBytes(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->bytes, 76U);
  EXPECT_EQ(to_text(*file), "safetensors, 2 tensors, 76 B: F32 60 B, I32 16 B");
}

TEST(WeightFile, safetensors_cut_off_at_every_byte_are_errors) {
  const std::string bytes = safetensors();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto file = read_safetensors(MemoryBytes(std::string_view(bytes).substr(0, length)));
    ASSERT_FALSE(file) << length;
    EXPECT_FALSE(file.error().next.empty());
  }
}

TEST(WeightFile, floats_take_the_jobs_type_and_packed_numbers_stay) {
  const auto file = read_safetensors(MemoryBytes(safetensors()));
  ASSERT_TRUE(file);
  EXPECT_EQ(loaded_as(*file->find("w"), file->format, DType::bf16).bytes(), 30U);
  EXPECT_EQ(loaded_as(*file->find("packed"), file->format, DType::bf16).bytes(), 16U);
  EXPECT_TRUE(is_packed(*file));
}

TEST(WeightFile, a_tensor_in_two_files_is_an_error) {
  WeightFile whole = *read_safetensors(MemoryBytes(safetensors()));
  const auto twice = add_shard(whole, whole);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("is in two files"));
  WeightFile other{WeightFileFormat::safetensors, {{"v", {2}, "F32", 8}}, UINT64_MAX};
  EXPECT_THAT(add_shard(whole, other).error().message, HasSubstr("exceed 64 bits"));
}

TEST(WeightFile, the_files_tensors_take_the_place_of_an_engines_weights) {
  Recorder recorder;
  const auto first = recorder.allocate(recorder.intern("q_proj.weight"), 0,
                                       {{64, 64}, Element::bf16}, Component::weights);
  const auto other =
      recorder.allocate("workspace", 0, {{512}, Element::uint8}, Component::workspace);
  recorder.enter(Phase::forward);
  const auto hidden =
      recorder.allocate(recorder.intern("hidden"), 0, {{8}, Element::fp32}, Component::activations);
  for (const std::uint32_t tensor : {hidden, other, first}) recorder.release(tensor);
  Recording recording = recorder.take();
  const WeightFile file{
      WeightFileFormat::gguf, {{"blk.0.attn_q.weight", {64, 64}, "Q4_K", 2304}}, 2304};
  hold_file_weights(recording, file, DType::fp16);
  ASSERT_EQ(recording.tensors.size(), 3U);
  std::vector<std::string> events;
  for (const Event& event : recording.events) {
    events.push_back((event.kind == Event::Kind::allocate ? "+" : "-") +
                     recording.name_of(event.tensor));
  }
  EXPECT_THAT(events, ::testing::ElementsAre("+blk.0.attn_q.weight", "+workspace", "+hidden",
                                             "-hidden", "-workspace"));
  EXPECT_EQ(recording.tensors[recording.events.front().tensor].meta.bytes(), 2304U);
}

TEST(WeightFile, a_job_that_trains_or_quantises_does_not_hold_the_files_weights) {
  const WeightFile plain{WeightFileFormat::safetensors, {{"w", {2}, "F32", 8}}, 8};
  const WeightFile packed{WeightFileFormat::gguf, {{"w", {32}, "Q4_0", 18}}, 18};
  Job job;
  EXPECT_FALSE(hold_their_weights(plain, job));
  job.method.kind = MethodKind::inference;
  EXPECT_TRUE(hold_their_weights(plain, job));
  job.method.base = WeightFormat::nf4;
  EXPECT_FALSE(hold_their_weights(plain, job));
  EXPECT_TRUE(hold_their_weights(packed, job));
}

}  // namespace
}  // namespace headroom::estimate
