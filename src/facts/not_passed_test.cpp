// SPDX-License-Identifier: Apache-2.0
#include "facts/not_passed.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

Gpu gpu(const char* pci, bool node, bool render) {
  Gpu made;
  made.pci = pci;
  const Source kfd{"/sys/class/kfd/kfd/topology/nodes", 0, ""};
  made.kfd_id = node ? Fact<std::uint64_t>(1, kfd)
                     : Fact<std::uint64_t>(Missing{Why::not_present, "no node"}, kfd);
  made.render_node = {render, Source{"/dev/dri/renderD128", 0, ""}};
  return made;
}

Facts container(std::vector<Gpu> gpus) {
  Facts facts;
  facts.machine.container = {std::string("docker"), Source{"/.dockerenv", 0, ""}};
  facts.machine.dev_visible = true;
  facts.gpus = std::move(gpus);
  return facts;
}

TEST(NotPassed, a_card_without_both_nodes_beside_one_with_both_was_not_passed) {
  Facts facts = container({gpu("0000:03:00.0", false, false), gpu("0000:06:00.0", true, true)});
  facts.kfd_nodes_unread = 1;
  mark_not_passed(facts);
  EXPECT_EQ(facts.gpus[0].kfd_id.missing().why, Why::no_permission);
  EXPECT_EQ(facts.gpus[0].pool.missing().why, Why::no_permission);
  EXPECT_EQ(facts.kfd_nodes_withheld, 1);
  EXPECT_EQ(facts.kfd_nodes_unread, 0) << "the node that could not be read is this card's";
  EXPECT_TRUE(facts.gpus[1].kfd_id.known());
}

TEST(NotPassed, on_a_host_the_driver_did_skip_it) {
  Facts facts = container({gpu("0000:03:00.0", false, false), gpu("0000:06:00.0", true, true)});
  facts.machine.container = {Missing{}, Source{}};
  mark_not_passed(facts);
  EXPECT_EQ(facts.gpus[0].kfd_id.missing().why, Why::not_present);
}

TEST(NotPassed, a_card_whose_render_node_was_passed_is_not_taken_for_one) {
  Facts facts = container({gpu("0000:03:00.0", false, true), gpu("0000:06:00.0", true, true)});
  mark_not_passed(facts);
  EXPECT_EQ(facts.gpus[0].kfd_id.missing().why, Why::not_present);
}

TEST(NotPassed, without_any_card_that_was_passed_nothing_is_known) {
  Facts facts = container({gpu("0000:03:00.0", false, false)});
  mark_not_passed(facts);
  EXPECT_EQ(facts.gpus[0].kfd_id.missing().why, Why::not_present);
}

}  // namespace
}  // namespace headroom::facts
