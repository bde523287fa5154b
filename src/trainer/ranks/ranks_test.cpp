// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of this process: what they tell each other and add up, and what is left
// where one of them goes.
#include "trainer/ranks/ranks.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <thread>

namespace headroom::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RanksTest : public ::testing::Test {
 protected:
  // Runs `work` as every rank at once.
  void run(std::uint32_t ranks, bool goes_on, const std::function<void(Ranks&)>& work) {
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        auto joined = Ranks::join({rank, ranks, name(), goes_on}, 7, mapping_);
        ASSERT_TRUE(joined) << joined.error().message;
        work(*joined);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static std::string name() { return fmt::format("trainer-ranks-test-{}", ::getpid()); }

  std::shared_ptr<averager::SharedMapping> mapping_ = std::make_shared<averager::SharedMapping>();
};

TEST_F(RanksTest, doubles_arrive_exactly_and_in_order) {
  const std::array<double, 3> told = {1.0 / 3, -123456789.000000123, 1e-30};
  run(3, false, [&](Ranks& ranks) {
    const auto all = ranks.tell({told.at(ranks.rank()), static_cast<double>(ranks.rank())});
    ASSERT_TRUE(all && *all);
    ASSERT_EQ((*all)->size(), 3U);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ((**all)[rank].rank, rank);
      EXPECT_THAT((**all)[rank].numbers, ElementsAre(told.at(rank), rank));
    }
  });
}

TEST_F(RanksTest, what_is_no_number_is_of_its_rank_alone) {
  run(2, false, [&](Ranks& ranks) {
    const auto all =
        ranks.tell({ranks.rank() == 0 ? std::numeric_limits<double>::quiet_NaN() : 4.0});
    ASSERT_TRUE(all && *all);
    EXPECT_TRUE(std::isnan((**all)[0].numbers[0]));
    EXPECT_EQ((**all)[1].numbers[0], 4.0);
  });
}

TEST_F(RanksTest, gradients_of_all_sizes_and_types_are_added_up) {
  constexpr std::int64_t more_than_fits = (5 << 20) + 3;
  run(2, false, [&](Ranks& ranks) {
    const double own = ranks.rank() + 1;
    std::deque<Parameter> parameters;
    for (const auto& [size, type] : std::initializer_list<std::pair<std::int64_t, at::ScalarType>>{
             {3, at::kFloat}, {more_than_fits, at::kFloat}, {5, at::kBFloat16}, {1, at::kFloat}})
      parameters.push_back({"", at::zeros({size}, type), at::full({size}, own, type), true});
    parameters.push_back({"", at::zeros({2, 2}), {}, true});
    if (ranks.rank() == 1) parameters.back().grad = at::full({2, 2}, 5.0);
    const auto together = ranks.add_up(parameters);
    ASSERT_TRUE(together) << together.error().message;
    EXPECT_TRUE(*together);
    for (std::size_t i = 0; i + 1 < parameters.size(); ++i)
      EXPECT_TRUE(parameters[i].grad.eq(3.0).all().item<bool>()) << i;
    EXPECT_TRUE(parameters.back().grad.eq(5.0).all().item<bool>());
  });
}

TEST_F(RanksTest, the_shares_are_all_of_the_work) {
  run(3, false, [&](Ranks& ranks) {
    for (const std::size_t count : {0U, 1U, 2U, 3U, 8U}) {
      const auto [first, last] = ranks.share(count);
      const auto all = ranks.tell({static_cast<double>(first), static_cast<double>(last)});
      ASSERT_TRUE(all && *all);
      double next = 0;
      for (const Told& one : **all) {
        EXPECT_EQ(one.numbers[0], next);
        next = one.numbers[1];
      }
      EXPECT_EQ(next, static_cast<double>(count));
    }
  });
}

TEST_F(RanksTest, those_that_are_left_share_the_work_of_one_that_goes) {
  run(3, true, [&](Ranks& ranks) {
    ASSERT_TRUE(ranks.tell({1}));
    EXPECT_EQ(ranks.leads(), ranks.rank() == 0);
    if (ranks.rank() == 0) return;  // It leaves.
    const auto cut_short = ranks.tell({2});
    ASSERT_TRUE(cut_short) << cut_short.error().message;
    EXPECT_FALSE(*cut_short);
    EXPECT_EQ(ranks.lost(), 1U);
    EXPECT_EQ(ranks.leads(), ranks.rank() == 1);
    const auto [first, last] = ranks.share(4);
    EXPECT_EQ(first, ranks.rank() == 1 ? 0U : 2U);
    EXPECT_EQ(last, first + 2);
    const auto all = ranks.tell({3});
    ASSERT_TRUE(all && *all);
    EXPECT_EQ((*all)->size(), 2U);
    EXPECT_EQ((**all)[0].rank, 1U);
  });
}

TEST_F(RanksTest, without_leave_to_go_on_the_others_end) {
  run(2, false, [&](Ranks& ranks) {
    ASSERT_TRUE(ranks.tell({1}));
    if (ranks.rank() == 1) return;
    const auto cut_short = ranks.tell({2});
    ASSERT_FALSE(cut_short);
    EXPECT_TRUE(is_of_another_rank(cut_short.error())) << cut_short.error().message;
    EXPECT_THAT(cut_short.error().next, HasSubstr("--resume"));
  });
}

TEST_F(RanksTest, nothing_has_a_name_while_they_run) {
  run(2, false, [&](Ranks& ranks) {
    ASSERT_TRUE(ranks.tell({1}));
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      EXPECT_EQ(entry.path().string().find(name()), std::string::npos) << entry.path();
    ASSERT_TRUE(ranks.tell({1}));
  });
}

// Ranks over which a model is split, with streams for messages of so many bytes.
class SplitRanksTest : public RanksTest {
 protected:
  void run_split(std::uint32_t ranks, std::uint64_t message_bytes,
                 const std::function<void(Ranks&)>& work) {
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        auto joined = Ranks::join({rank, ranks, name(), false}, 7, mapping_, message_bytes);
        ASSERT_TRUE(joined) << joined.error().message;
        ASSERT_TRUE(joined->is_split());
        work(*joined);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static std::vector<std::byte> message(std::size_t bytes, unsigned seed) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      made[i] = static_cast<std::byte>((i * 31 + seed * 7 + i / 251) & 0xffU);
    return made;
  }
};

// Three times round the ring, and with a message that is larger than it.
TEST_F(SplitRanksTest, messages_arrive_whole_and_in_order_both_ways) {
  constexpr std::uint64_t room = 10'000;
  constexpr unsigned count = 9;
  run_split(3, room, [&](Ranks& ranks) {
    const auto size_of = [](unsigned i) { return i % 3 == 2 ? std::size_t{50'001} : 4'001 + i; };
    for (const bool forward : {true, false}) {
      const std::uint32_t last = ranks.ranks() - 1;
      const bool receives = forward ? ranks.rank() > 0 : ranks.rank() < last;
      const bool sends = forward ? ranks.rank() < last : ranks.rank() > 0;
      for (unsigned i = 0; i < count; ++i) {
        std::vector<std::byte> found = message(size_of(i), i);
        if (receives) {
          found.assign(size_of(i), std::byte{0});
          const auto got = ranks.streams().receive(ranks.rank() + (forward ? -1 : 1), found.data(),
                                                   found.size());
          ASSERT_TRUE(got && *got);
          EXPECT_EQ(found, message(size_of(i), i)) << i;
        }
        if (sends) {
          const auto sent =
              ranks.streams().send(ranks.rank() + (forward ? 1 : -1), found.data(), found.size());
          ASSERT_TRUE(sent && *sent);
        }
      }
    }
  });
}

TEST_F(SplitRanksTest, an_interrupted_round_leaves_nothing_for_the_next) {
  run_split(2, 5'000, [&](Ranks& ranks) {
    std::vector<std::byte> bytes = message(3'000, ranks.rank());
    if (ranks.rank() == 0) {
      ASSERT_TRUE(ranks.streams().send(1, bytes.data(), bytes.size()));
      const auto got = ranks.streams().receive(1, bytes.data(), 10);  // It never comes.
      ASSERT_TRUE(got);
      EXPECT_FALSE(*got);
    } else {
      ranks.streams().interrupt();
    }
    ASSERT_TRUE(ranks.tell({1}));
    ranks.streams().restart();
    ASSERT_TRUE(ranks.tell({1}));
    bytes = message(2'000, 9);
    if (ranks.rank() == 0) {
      const auto sent = ranks.streams().send(1, bytes.data(), bytes.size());
      EXPECT_TRUE(sent && *sent);
    } else {
      const auto got = ranks.streams().receive(0, bytes.data(), bytes.size());
      EXPECT_TRUE(got && *got);
      EXPECT_EQ(bytes, message(2'000, 9));
    }
  });
}

TEST_F(SplitRanksTest, who_waits_for_one_that_left_is_told) {
  run_split(3, 5'000, [&](Ranks& ranks) {
    ASSERT_TRUE(ranks.tell({1}));
    if (ranks.rank() == 2) return;  // Neither of the others waits for it at once.
    std::byte byte{};
    const auto got = ranks.streams().receive(1 - ranks.rank(), &byte, 1);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::io);
  });
}

TEST_F(SplitRanksTest, one_has_and_all_get_and_texts_are_of_their_rank) {
  run_split(3, 1, [&](Ranks& ranks) {
    const std::vector<std::byte> all = message((5U << 20U) + 3, 4);  // More than is staged.
    std::vector<std::byte> found;
    ASSERT_TRUE(ranks.spread(1, ranks.rank() == 1 ? all.data() : nullptr, all.size(),
                             [&](const std::byte* piece, std::uint64_t bytes) -> Status {
                               found.insert(found.end(), piece, piece + bytes);
                               return Done{};
                             }));
    EXPECT_EQ(found, all);
    const auto texts = ranks.gather(std::string(ranks.rank() * 3, 'x') + "!");
    ASSERT_TRUE(texts);
    EXPECT_THAT(*texts, ElementsAre("!", "xxx!", "xxxxxx!"));
  });
}

TEST_F(SplitRanksTest, a_gradient_of_two_is_added_up_and_the_third_has_none) {
  constexpr std::int64_t more_than_fits = (1 << 20) + 5;
  run_split(3, 1, [&](Ranks& ranks) {
    at::Tensor own;
    if (ranks.rank() != 1)
      own = at::full({more_than_fits}, static_cast<double>(ranks.rank()) + 1, at::kFloat);
    const auto added = ranks.add_up(own, at::kFloat, more_than_fits);
    ASSERT_TRUE(added) << added.error().message;
    if (own.defined()) {
      EXPECT_TRUE(own.eq(4.0).all().item<bool>());
    }
  });
}

TEST(RanksAlone, one_has_all_of_the_work_and_tells_itself) {
  Ranks ranks;
  EXPECT_TRUE(ranks.is_alone() && ranks.leads());
  EXPECT_EQ(ranks.share(5), std::pair(std::size_t{0}, std::size_t{5}));
  EXPECT_THAT((**ranks.tell({2.5})).front().numbers, ElementsAre(2.5));
}

}  // namespace
}  // namespace headroom::trainer
