// SPDX-License-Identifier: Apache-2.0
// PyTorch's rules by hand: each expectation follows from the constants in torch_policy.h.
#include "allocator/models/torch_policy.h"

#include <gtest/gtest.h>

#include "allocator/models/make_policy.h"
#include "allocator/models/torch_expandable_policy.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

template <class Tested>
struct Under {
  explicit Under(std::uint64_t capacity) : policy(capacity) {}

  Address get(std::uint64_t bytes, StreamId stream = 0) {
    const auto address = policy.allocate({bytes, Component::other, stream});
    EXPECT_TRUE(address.has_value()) << bytes;
    return address.value_or(0);
  }
  bool refuses(std::uint64_t bytes) {
    return !policy.allocate({bytes, Component::other, 0}).has_value();
  }
  std::uint64_t reserved() const { return policy.usage().reserved_bytes; }
  std::uint64_t live() const { return policy.usage().live_bytes; }

  Tested policy;
};

TEST(Torch, the_request_chooses_the_segment) {
  Under<TorchPolicy> torch(1024 * mib);
  torch.get(1);
  EXPECT_EQ(torch.reserved(), 2 * mib);
  EXPECT_EQ(torch.live(), 512U);
  torch.get(mib);  // Still small: the first segment has room.
  EXPECT_EQ(torch.reserved(), 2 * mib);
  torch.get(mib + 1);
  EXPECT_EQ(torch.reserved(), 22 * mib);
  torch.get(10 * mib);  // Taken from the 20 MiB segment, which has 18.99 MiB left.
  EXPECT_EQ(torch.reserved(), 22 * mib);
  torch.get(11 * mib);
  EXPECT_EQ(torch.reserved(), 34 * mib);
}

TEST(Torch, zero_bytes_take_nothing) {
  Under<TorchPolicy> torch(1024 * mib);
  torch.policy.free(torch.get(0));
  torch.get(0);
  EXPECT_EQ(torch.reserved(), 0U);
  EXPECT_EQ(torch.live(), 0U);
}

TEST(Torch, a_large_block_keeps_a_rest_of_one_mebibyte) {
  Under<TorchPolicy> torch(1024 * mib);
  torch.get(11 * mib);  // A segment of 12 MiB; 1 MiB is not more than 1 MiB.
  EXPECT_EQ(torch.live(), 12 * mib);
  const Address block = torch.get(12 * mib);
  torch.policy.free(block);
  torch.get(11 * mib - 512);  // A rest of 1 MiB and 512 bytes is split off.
  EXPECT_EQ(torch.live(), 23 * mib - 512);
}

TEST(Torch, a_small_block_is_split_to_the_last_granule) {
  Under<TorchPolicy> torch(4 * mib);
  for (int i = 0; i < 4096; ++i) torch.get(1);
  EXPECT_EQ(torch.reserved(), 2 * mib);
  EXPECT_EQ(torch.live(), 2 * mib);
}

TEST(Torch, best_fit_takes_the_smallest_then_the_lowest) {
  Under<TorchPolicy> torch(1024 * mib);
  const Address large = torch.get(40 * mib);
  const Address low = torch.get(30 * mib);
  const Address high = torch.get(30 * mib);
  torch.policy.free(large);
  torch.policy.free(high);
  torch.policy.free(low);
  EXPECT_EQ(torch.get(30 * mib), low);
  EXPECT_EQ(torch.get(29 * mib), high);
}

TEST(Torch, refusal_frees_unsplit_segments_and_asks_once_more) {
  Under<TorchPolicy> torch(40 * mib);
  const Address first = torch.get(20 * mib);
  const Address second = torch.get(20 * mib);
  torch.policy.free(first);
  torch.policy.free(second);
  torch.get(30 * mib);  // Neither fits; both go back.
  EXPECT_EQ(torch.reserved(), 30 * mib);
  EXPECT_EQ(torch.policy.usage().reserved_peak_bytes, 40 * mib);
}

// The failure that headroom is for: 36 MiB are free, in two halves of split segments.
TEST(Torch, split_segments_stay_and_the_request_fails) {
  Under<TorchPolicy> torch(40 * mib);
  const Address a = torch.get(2 * mib);
  const Address b = torch.get(18 * mib);
  const Address c = torch.get(2 * mib);
  const Address d = torch.get(18 * mib);
  torch.policy.free(b);
  torch.policy.free(d);
  EXPECT_EQ(torch.live(), 4 * mib);
  EXPECT_TRUE(torch.refuses(20 * mib));
  EXPECT_EQ(torch.live(), 4 * mib);
  torch.policy.free(a);
  torch.policy.free(c);
  EXPECT_FALSE(torch.refuses(20 * mib));

  const auto headroom = *make_policy("headroom", 40 * mib);
  static_cast<void>(headroom->allocate({2 * mib, Component::other, 0}));
  const auto e = headroom->allocate({18 * mib, Component::other, 0});
  static_cast<void>(headroom->allocate({2 * mib, Component::other, 0}));
  const auto f = headroom->allocate({18 * mib, Component::other, 0});
  headroom->free(*e);
  headroom->free(*f);
  EXPECT_TRUE(headroom->allocate({36 * mib, Component::other, 0}).has_value());
}

TEST(Torch, streams_do_not_share_not_even_after_a_synchronise) {
  Under<TorchPolicy> torch(1024 * mib);
  torch.policy.free(torch.get(20 * mib, 1));
  torch.policy.synchronize(1);
  torch.get(20 * mib, 2);
  EXPECT_EQ(torch.reserved(), 40 * mib);
}

TEST(TorchExpandable, large_pages_are_twenty_mebibytes_and_rests_are_split_off) {
  Under<TorchExpandablePolicy> torch(1024 * mib);
  torch.get(11 * mib);
  EXPECT_EQ(torch.reserved(), 20 * mib);
  EXPECT_EQ(torch.live(), 11 * mib);
  torch.get(9 * mib);
  EXPECT_EQ(torch.reserved(), 20 * mib);
  torch.get(1);
  EXPECT_EQ(torch.reserved(), 22 * mib);
}

TEST(TorchExpandable, a_free_end_grows_into_a_larger_block) {
  Under<TorchExpandablePolicy> torch(1024 * mib);
  const Address end = torch.get(30 * mib);
  torch.policy.free(end);
  EXPECT_EQ(torch.get(50 * mib), end);
  EXPECT_EQ(torch.reserved(), 60 * mib);
}

TEST(TorchExpandable, refusal_unmaps_free_pages_and_uses_them_elsewhere) {
  Under<TorchExpandablePolicy> torch(80 * mib);
  const Address first = torch.get(40 * mib);
  torch.get(20 * mib);
  torch.policy.free(first);
  torch.get(60 * mib - 20 * mib);
  EXPECT_EQ(torch.reserved(), 60 * mib);
  torch.policy.free(first);
  torch.get(60 * mib);
  EXPECT_EQ(torch.reserved(), 80 * mib);
}

// One call reserves addresses; each 20 MiB are created and mapped, and one call allows access.
TEST(TorchExpandable, counts_the_calls_of_the_driver) {
  TorchExpandablePolicy policy(1024 * mib);
  ASSERT_TRUE(policy.allocate({30 * mib, Component::other, 0}).has_value());
  EXPECT_EQ(policy.usage().device_calls, 1U + 2 * 2 + 1);
  ASSERT_TRUE(policy.allocate({5 * mib, Component::other, 0}).has_value());
  EXPECT_EQ(policy.usage().device_calls, 6U) << "it fits into what is mapped";
}

TEST(MakePolicy, an_unknown_name_lists_those_that_exist) {
  const auto policy = make_policy("tourch", mib);
  ASSERT_FALSE(policy.has_value());
  for (const std::string& name : policy_names()) {
    EXPECT_NE(policy.error().message.find(name), std::string::npos) << name;
    EXPECT_EQ((*make_policy(name, 64 * mib))->name(), name);
  }
  EXPECT_EQ(policy.error().next, "--policy torch");
}

TEST(MakePolicy, every_policy_keeps_the_contract) {
  for (const std::string& name : policy_names()) {
    const auto policy = *make_policy(name, 80 * mib);
    const auto block = policy->allocate({3 * mib, Component::activations, 0});
    ASSERT_TRUE(block.has_value()) << name;
    EXPECT_NE(*block, 0U);
    policy->retag(*block, Component::gradients);
    EXPECT_EQ(policy->usage().live[Component::gradients], policy->usage().live_bytes) << name;
    const Usage before = policy->usage();
    EXPECT_EQ(policy->allocate({UINT64_MAX, Component::other, 0}), std::nullopt) << name;
    EXPECT_EQ(policy->allocate({78 * mib, Component::other, 0}), std::nullopt) << name;
    EXPECT_EQ(policy->usage().live, before.live) << name;
    policy->synchronize(0);
    policy->free(*block);
    EXPECT_EQ(policy->usage().live_bytes, 0U) << name;
    EXPECT_TRUE(policy->allocate({78 * mib, Component::other, 0}).has_value()) << name;
  }
}

}  // namespace
}  // namespace headroom::allocator
