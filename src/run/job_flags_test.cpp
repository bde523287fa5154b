// SPDX-License-Identifier: Apache-2.0
#include "run/job_flags.h"

#include <gtest/gtest.h>

namespace headroom::run {
namespace {

JobFlags batch_flag() {
  JobFlags flags;
  flags.set("batch.micro", 0, "--batch");
  return flags;
}

TEST(PlaceError, of_a_flags_key_begins_with_the_flag) {
  const Error error = Error{Errc::invalid, "expected 1", "write 1"}.at("batch.micro");
  EXPECT_EQ(place_error(error, batch_flag(), "job.toml").message, "--batch: expected 1");
}

TEST(PlaceError, what_to_write_is_written_as_the_flag) {
  JobFlags flags;
  flags.set("method.kind", "lroa", "--method");
  const Error error =
      Error{Errc::invalid, "expected lora", "write kind = \"lora\""}.at("method.kind");
  EXPECT_EQ(place_error(error, flags, "").next, "write --method lora");
}

TEST(PlaceError, of_another_key_begins_with_the_file) {
  const Error error = Error{Errc::invalid, "expected 1", "write 1"}.at("batch.global");
  EXPECT_EQ(place_error(error, batch_flag(), "job.toml").message,
            "job.toml: batch.global: expected 1");
}

TEST(PlaceError, words_that_read_like_a_key_are_none) {
  const Error error{Errc::invalid, "batch.micro: is what the file is called", "rename it"};
  EXPECT_EQ(place_error(error, batch_flag(), "job.toml").message,
            "job.toml: batch.micro: is what the file is called");
}

TEST(PlaceError, behind_other_context_the_key_is_not_the_place) {
  const Error error =
      Error{Errc::invalid, "expected 1", "write 1"}.at("batch.micro").in("model.onnx");
  EXPECT_EQ(place_error(error, batch_flag(), "job.toml").message,
            "job.toml: model.onnx: batch.micro: expected 1");
}

}  // namespace
}  // namespace headroom::run
