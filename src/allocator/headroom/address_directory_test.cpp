// SPDX-License-Identifier: Apache-2.0
#include "allocator/headroom/address_directory.h"

#include <gtest/gtest.h>

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

TEST(AddressDirectory, knows_the_owner_of_whole_units) {
  AddressDirectory directory;
  EXPECT_EQ(directory.owner(4 * mib).owner, AddressDirectory::nobody);
  directory.set(4 * mib, 4 * mib, 3);
  EXPECT_EQ(directory.owner(4 * mib - 1).owner, AddressDirectory::nobody);
  EXPECT_EQ(directory.owner(4 * mib).owner, 3);
  EXPECT_EQ(directory.owner(8 * mib - 1).owner, 3);
  EXPECT_TRUE(directory.owner(6 * mib).is_sure);
  EXPECT_EQ(directory.owner(8 * mib).owner, AddressDirectory::nobody);
  directory.set(4 * mib, 4 * mib, 5);
  EXPECT_EQ(directory.owner(4 * mib).owner, 5);
  EXPECT_TRUE(directory.owner(4 * mib).is_sure);
}

// A free that goes to the wrong owner's inbox would be lost.
TEST(AddressDirectory, is_not_sure_where_two_owners_meet_in_a_unit) {
  AddressDirectory directory;
  directory.set(5 * mib, 2 * mib, 1);
  EXPECT_TRUE(directory.owner(5 * mib).is_sure);
  directory.set(7 * mib, 2 * mib, 2);
  EXPECT_FALSE(directory.owner(6 * mib).is_sure);
  EXPECT_FALSE(directory.owner(7 * mib).is_sure);
  EXPECT_TRUE(directory.owner(5 * mib).is_sure);
  EXPECT_TRUE(directory.owner(8 * mib).is_sure);
  directory.set(6 * mib, 2 * mib, 1);  // All of the unit, so nobody else can be there any more.
  EXPECT_TRUE(directory.owner(7 * mib).is_sure);
}

TEST(AddressDirectory, is_not_sure_of_addresses_that_it_cannot_tell_apart) {
  AddressDirectory directory;
  const std::uint64_t far = (std::uint64_t{1} << 49U) + 4 * mib;
  directory.set(far, 2 * mib, 1);
  EXPECT_EQ(directory.owner(far).owner, 1);
  EXPECT_FALSE(directory.owner(far).is_sure);
}

}  // namespace
}  // namespace headroom::allocator
