// SPDX-License-Identifier: Apache-2.0
#include "facts/find_gpu.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

Gpu make_gpu(const std::string& pci, const std::string& name, std::uint64_t index) {
  Gpu gpu;
  gpu.pci = pci;
  gpu.name = name;
  gpu.connection.hip_index = Fact<std::uint64_t>(index, {});
  return gpu;
}

Facts make_machine() {
  Facts facts;
  facts.gpus = {make_gpu("0000:03:00.0", "AMD Radeon RX 7900 XT", 1),
                make_gpu("0000:06:00.0", "AMD Radeon RX 7900 XT", 0),
                make_gpu("0000:09:00.0", "AMD Instinct MI50", 2)};
  return facts;
}

std::string meant(std::string_view word) {
  const Facts facts = make_machine();
  const auto found = find_gpus(facts, word);
  if (!found) return found.error().message;
  return found->size() == 1 ? found->front()->pci : std::to_string(found->size()) + " GPUs";
}

TEST(FindGpus, no_word_means_all) {
  EXPECT_EQ(meant(""), "3 GPUs");
}

TEST(FindGpus, an_address_may_leave_out_its_domain) {
  EXPECT_EQ(meant("0000:06:00.0"), "0000:06:00.0");
  EXPECT_EQ(meant("06:00.0"), "0000:06:00.0");
}

TEST(FindGpus, a_number_is_the_hip_index_and_not_the_place_in_the_list) {
  EXPECT_EQ(meant("0"), "0000:06:00.0");
}

TEST(FindGpus, a_name_that_one_gpu_has_means_it) {
  EXPECT_EQ(meant("instinct mi50"), "0000:09:00.0");
  EXPECT_EQ(meant("AMD Instinct MI50"), "0000:09:00.0");
}

TEST(FindGpus, a_name_that_several_have_is_refused_with_their_addresses) {
  EXPECT_EQ(meant("RX 7900 XT"),
            "--gpu RX 7900 XT: expected one GPU, found 2 of that name: 0000:03:00.0 (AMD Radeon RX "
            "7900 XT, HIP index 1), 0000:06:00.0 (AMD Radeon RX 7900 XT, HIP index 0)");
}

TEST(FindGpus, what_none_is_called_is_refused_with_all_that_are_there) {
  for (const std::string_view word : {"3", "RX 7900", "0000:04:00.0", "-"}) {
    EXPECT_NE(meant(word).find("expected one of 0000:03:00.0"), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace headroom::facts
