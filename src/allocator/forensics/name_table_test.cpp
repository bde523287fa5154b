// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/name_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace headroom::allocator {
namespace {

TEST(NameTable, equal_names_have_one_number_and_others_have_others) {
  NameTable names;
  const NameId head = names.intern("lm_head");
  const NameId norm = names.intern("model.norm");
  EXPECT_NE(head, 0);
  EXPECT_NE(head, norm);
  EXPECT_EQ(names.intern(std::string("lm_head")), head);
  EXPECT_EQ(names.name(head), "lm_head");
  EXPECT_EQ(names.name(norm), "model.norm");
  EXPECT_EQ(names.size(), 2U);
}

TEST(NameTable, no_name_is_zero_and_a_number_never_given_has_no_name) {
  NameTable names;
  EXPECT_EQ(names.intern(""), 0);
  EXPECT_EQ(names.name(0), "");
  EXPECT_EQ(names.name(7), "");
}

TEST(NameTable, a_full_table_keeps_what_it_has_and_gives_no_number_to_more) {
  NameTable names;
  for (std::size_t i = 0; i < NameTable::max_names; ++i)
    ASSERT_EQ(names.intern(fmt::format("layer.{}", i)), i + 1);
  EXPECT_EQ(names.intern("one more"), 0);
  EXPECT_EQ(names.intern("layer.65534"), NameTable::max_names);
  EXPECT_EQ(names.name(300), "layer.299");
}

TEST(NameTable, a_long_name_is_cut_and_found_again) {
  NameTable names;
  const NameId id = names.intern(std::string(1000, 'x'));
  EXPECT_EQ(names.intern(std::string(2000, 'x')), id);
  EXPECT_EQ(names.name(id).size(), NameTable::max_name_bytes);
}

TEST(NameTable, what_is_printed_of_a_name_is_text) {
  EXPECT_EQ(printable_name("größe"), "größe");
  EXPECT_EQ(printable_name("a\nb\x7F"), "a?b?");
  EXPECT_EQ(printable_name("a\u202e\u009b\u2066"), "a???");
  EXPECT_EQ(printable_name("gr\xF6\xDF"
                           "e"),
            "gr??e");
}

TEST(NameTable, a_pattern_leaves_out_which_layer_it_was) {
  EXPECT_EQ(name_pattern("layers.35.mlp.up_proj"), "layers.*.mlp.up_proj");
  EXPECT_EQ(name_pattern("h.0"), "h.*");
  EXPECT_EQ(name_pattern("conv1.fp16"), "conv1.fp16");
  EXPECT_EQ(name_pattern("12"), "*");
  EXPECT_EQ(name_pattern(""), "");
  EXPECT_EQ(name_pattern("..7."), "..*.");
}

TEST(NameTable, threads_that_intern_the_same_names_agree) {
  NameTable names;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::string name = fmt::format("layer.{}", i % 500);
        if (names.name(names.intern(name)) != name) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(names.size(), 500U);
}

}  // namespace
}  // namespace headroom::allocator
