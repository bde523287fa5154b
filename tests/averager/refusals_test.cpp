// SPDX-License-Identifier: Apache-2.0
// What the averager refuses, and that it then leaves nothing behind: ranks that disagree, names
// that are taken, memory that does not suffice, files that are not the user's own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "averager/averager.h"
#include "averager/job.h"

namespace headroom::averager::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string failure_of(const Options& options) {
  const auto averager = Averager::open(options);
  return averager ? "opened" : averager.error().message;
}

// One rank whose fellow does not come, so that opening it fails at the end.
Options lonely(const std::string& job) {
  auto options = options_of(job, 2, 0);
  options.meet_ms = 50;
  return options;
}

TEST(AveragerRefuses, ranks_that_do_not_come_by_name) {
  EXPECT_THAT(failure_of(lonely("missing")), HasSubstr("found no rank 1"));
  EXPECT_FALSE(is_left_behind("missing"));
}

TEST(AveragerRefuses, numbers_out_of_range) {
  auto options = lonely("range");
  options.terms.ranks = 17;
  EXPECT_THAT(failure_of(options), HasSubstr("expected 1 to 16 ranks, found 17"));
  options = lonely("range");
  options.rank = 2;
  EXPECT_THAT(failure_of(options), HasSubstr("expected a rank below 2, found 2"));
  options = lonely("range");
  options.terms.chunk_bytes = 1000;
  EXPECT_THAT(failure_of(options), HasSubstr("found 1000"));
  options = lonely("range");
  options.terms.arena_bytes = 0;
  EXPECT_THAT(failure_of(options), HasSubstr("found 0"));
}

TEST(AveragerRefuses, names_that_lead_elsewhere) {
  for (const char* name : {"", "../x", "a/b", "a b"}) {
    auto options = lonely("name");
    options.place.name = name;
    EXPECT_THAT(failure_of(options), HasSubstr("expected a job name"));
  }
}

TEST(AveragerRefuses, more_memory_than_there_is_before_it_takes_any) {
  auto options = lonely("full");
  options.terms.arena_bytes = std::uint64_t{1} << 43U;
  EXPECT_THAT(failure_of(options), AllOf(HasSubstr("expected room for 16"), HasSubstr("/dev/shm")));
  EXPECT_FALSE(is_left_behind("full"));
}

TEST(AveragerRefuses, a_file_that_others_could_have_written_and_leaves_it_alone) {
  const auto options = lonely("open-to-all");
  const std::string path = options.place.path();
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ::fchmod(file, 0666);
  ::close(file);
  EXPECT_THAT(failure_of(options), HasSubstr("nothing in it was read"));
  EXPECT_TRUE(is_left_behind("open-to-all"));
  ::unlink(path.c_str());
}

TEST(AveragerRefuses, a_file_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make a file of another user";
  const auto options = lonely("anothers");
  const std::string path = options.place.path();
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::fchown(file, 65534, 65534), 0);
  ::close(file);
  EXPECT_THAT(failure_of(options), HasSubstr("of user 65534"));
  ::unlink(path.c_str());
}

TEST(AveragerRefuses, a_symbolic_link) {
  const auto options = lonely("link");
  const std::string path = options.place.path();
  ASSERT_EQ(::symlink("/dev/null", path.c_str()), 0);
  EXPECT_THAT(failure_of(options), HasSubstr("found a symbolic link"));
  ::unlink(path.c_str());
}

// A job of two ranks in children, while `then` runs here. Both are in it by then.
void beside_a_job(const std::string& job, const std::function<void()>& then, bool cleans = true) {
  std::array<int, 2> joined = {};
  ASSERT_EQ(::pipe2(joined.data(), O_CLOEXEC), 0);
  const auto rank = [&](std::uint32_t which) {
    ::close(joined[0]);
    auto averager = Averager::open(options_of(job, 2, which));
    if (!averager || ::write(joined[1], "", 1) != 1) return 1;
    ::close(joined[1]);
    ::pause();
    return 0;
  };
  {
    const Child one([&] { return rank(0); });
    const Child two([&] { return rank(1); });
    ::close(joined[1]);
    char byte = 0;
    int count = 0;
    while (::read(joined[0], &byte, 1) == 1) ++count;
    ::close(joined[0]);
    EXPECT_EQ(count, 2) << "ranks that joined";
    then();
    // Both stand still before either is killed: the other would notice, and clean up.
    for (const Child* child : {&one, &two}) child->send(SIGSTOP);
  }
  if (cleans) ::unlink(options_of(job, 2, 0).place.path().c_str());
}

TEST(AveragerRefuses, a_second_job_of_the_same_name) {
  beside_a_job("twice", [] {
    auto options = lonely("twice");
    options.terms.job = 8;
    EXPECT_THAT(failure_of(options), HasSubstr("another job runs under the same name"));
  });
}

TEST(AveragerRefuses, a_rank_that_is_there_already) {
  beside_a_job("there",
               [] { EXPECT_THAT(failure_of(lonely("there")), HasSubstr("expected rank 0")); });
}

TEST(AveragerRefuses, ranks_with_other_options) {
  beside_a_job("options", [] {
    auto options = lonely("options");
    options.terms.ranks = 3;
    options.rank = 2;
    EXPECT_THAT(failure_of(options), AllOf(HasSubstr("the ranks disagree"), HasSubstr("3 ranks")));
  });
}

TEST(AveragerRefuses, nothing_of_a_segment_that_a_crash_left_behind) {
  beside_a_job(
      "crash", [] {}, false);  // Both ranks are killed at the end.
  EXPECT_TRUE(is_left_behind("crash"));
  EXPECT_THAT(failure_of(lonely("crash")), HasSubstr("found no rank 1"));  // Of a new segment.
  EXPECT_FALSE(is_left_behind("crash"));
}

TEST(AveragerRefuses, a_file_of_nonsense_by_replacing_it) {
  const auto options = lonely("nonsense");
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, sizeof(Control) + 5}) {
    const int file = ::open(options.place.path().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    const std::vector<char> bytes(size, 'x');
    ASSERT_EQ(::write(file, bytes.data(), size), static_cast<ssize_t>(size));
    ::close(file);
    EXPECT_THAT(failure_of(options), HasSubstr("found no rank 1"));
    EXPECT_FALSE(is_left_behind("nonsense"));
  }
}

// Both ranks must fail with the same words, and their data stay.
void expect_disagreement(const std::string& job, const Request& first, const Request& second,
                         const std::string& words) {
  const auto rank = [&](std::uint32_t which) {
    auto averager = Averager::open(options_of(job, 2, which));
    if (!averager) return 1;
    const std::vector<float> before(200'000, 1.0F);
    std::vector<float> data = before;
    Request request = which == 0 ? first : second;
    if (request.kind != Kind::step) request.data = reinterpret_cast<std::byte*>(data.data());
    const auto ticket = (*averager)->start(request);
    if (!ticket) return 2;
    const auto outcome = (*averager)->wait(*ticket);
    if (outcome || outcome.error().message.find(words) == std::string::npos) return 3;
    if (data != before) return 4;
    // They go on together all the same.
    const auto step = (*averager)->start({.kind = Kind::step});
    return step && (*averager)->wait(*step) ? 0 : 5;
  };
  Child one([&] { return rank(0); });
  Child two([&] { return rank(1); });
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(two.wait(), 0);
}

TEST(AveragerRefuses, buckets_about_which_ranks_disagree) {
  const Request floats{.elements = 4096};
  expect_disagreement("sizes", floats, {.elements = 1024},
                      "expected an average of 4096 float32 as rank 0 has it, found an average of "
                      "1024 float32 at rank 1");
  expect_disagreement("types", floats, {.type = ElementType::bfloat16, .elements = 4096},
                      "found an average of 4096 bfloat16 at rank 1");
  expect_disagreement("kinds", floats, {.kind = Kind::sum, .elements = 4096}, "found a sum");
  expect_disagreement("pieces", floats, {.elements = 4096, .in_pieces = true},
                      "found an average of 4096 float32 in pieces at rank 1");
  // Of which the first pieces are equally large.
  expect_disagreement("all-pieces", {.elements = 200'000, .in_pieces = true},
                      {.elements = 190'000, .in_pieces = true},
                      "found an average of 190000 float32 in pieces at rank 1");
  expect_disagreement("steps", floats, {.kind = Kind::step}, "found a step's border at rank 1");
}

TEST(AveragerRefuses, buckets_that_make_no_sense) {
  auto averager = Averager::open(options_of("sense", 1, 0));
  ASSERT_TRUE(averager);
  float one = 1;
  auto* data = reinterpret_cast<std::byte*>(&one);
  EXPECT_FALSE((*averager)->start({.data = nullptr, .elements = 1}));
  EXPECT_FALSE((*averager)->start({.data = data + 1, .elements = 1}));
  EXPECT_FALSE((*averager)->start({.data = data, .elements = ~std::uint64_t{0}}));
  EXPECT_FALSE(
      (*averager)->start({.kind = Kind::broadcast, .data = data, .elements = 1, .root = 1}));
  EXPECT_FALSE((*averager)->wait(0));
  EXPECT_FALSE((*averager)->free(data));
  EXPECT_FALSE((*averager)->allocate(std::uint64_t{1} << 50U));
  EXPECT_TRUE((*averager)->start({.data = data, .elements = 0}));
}

TEST(AveragerRefuses, memory_that_cannot_be_pinned_and_leaves) {
  auto options = options_of("pinning", 1, 0);
  options.pinning.pin = [](std::byte*, std::uint64_t bytes) -> Status {
    return Error{Errc::unsupported, "no pin for " + std::to_string(bytes), ""};
  };
  EXPECT_THAT(failure_of(options), HasSubstr("no pin for"));
  EXPECT_FALSE(is_left_behind("pinning"));
}

}  // namespace
}  // namespace headroom::averager::testing
