// SPDX-License-Identifier: Apache-2.0
#include "faces/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::faces {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Messages, an_out_of_memory_has_the_words_that_programs_look_for) {
  const std::string text = out_of_memory_message("HIP", 20U << 20U, 1, "out of memory: …");
  EXPECT_THAT(text, StartsWith("HIP out of memory. Tried to allocate 20.00 MiB on GPU 1"));
  EXPECT_THAT(text, HasSubstr(" out of memory.")) << "accelerate: utils/memory.py";
  EXPECT_THAT(text, HasSubstr("\nout of memory: …"));
}

TEST(Messages, sizes_are_written_as_pytorch_writes_them) {
  EXPECT_EQ(torch_size(512), "512 bytes");
  EXPECT_EQ(torch_size(1536), "1.50 KiB");
  EXPECT_EQ(torch_size(std::uint64_t{3} << 29U), "1.50 GiB");
}

}  // namespace
}  // namespace headroom::faces
