// SPDX-License-Identifier: Apache-2.0
// One suite for every backend: what Backend promises, and what the allocator on top of it keeps.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "allocator/backend.h"
#include "allocator/backends/host.h"
#include "allocator/headroom_allocator.h"
#include "allocator/simulated_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

struct Kind {
  std::string name;
  bool has_contents;  // Whether the CPU can read and write what is mapped.
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

std::unique_ptr<Backend> make(const Kind& kind) {
  if (kind.name == "simulated") return std::make_unique<SimulatedBackend>();
  auto host = HostBackend::create();
  EXPECT_TRUE(host.has_value());
  return std::move(*host);
}

std::uint64_t* words(std::uint64_t address) {
  return reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(address));
}

class BackendConformance : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    backend_ = make(GetParam());
    ASSERT_NE(backend_, nullptr);
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(BackendConformance, ranges_are_aligned_and_do_not_overlap) {
  const auto first = backend_->reserve_range(6 * mib);
  const auto second = backend_->reserve_range(8 * mib);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first % page_bytes, 0U);
  EXPECT_EQ(*second % page_bytes, 0U);
  EXPECT_TRUE(*first + 6 * mib <= *second || *second + 8 * mib <= *first);
}

TEST_P(BackendConformance, ranges_are_whole_pages_and_not_endless) {
  EXPECT_FALSE(backend_->reserve_range(0).has_value());
  EXPECT_FALSE(backend_->reserve_range(3 * mib).has_value());
  EXPECT_FALSE(backend_->reserve_range(UINT64_MAX / page_bytes * page_bytes).has_value());
}

TEST_P(BackendConformance, a_page_is_mapped_once_and_only_into_a_range) {
  const std::uint64_t base = *backend_->reserve_range(4 * mib);
  const PageHandle page = *backend_->create_page();
  const PageHandle other = *backend_->create_page();
  EXPECT_NE(page, other);
  EXPECT_FALSE(backend_->map(base + 512, page).has_value());
  EXPECT_FALSE(backend_->map(base + 4 * mib, page).has_value());
  EXPECT_FALSE(backend_->map(base, other + 1000).has_value());
  ASSERT_TRUE(backend_->map(base, page).has_value());
  EXPECT_FALSE(backend_->map(base, other).has_value());
  EXPECT_FALSE(backend_->map(base + 2 * mib, page).has_value());
}

TEST_P(BackendConformance, only_what_is_mapped_is_unmapped_and_the_range_stays) {
  const std::uint64_t base = *backend_->reserve_range(4 * mib);
  const PageHandle page = *backend_->create_page();
  EXPECT_FALSE(backend_->unmap(base).has_value());
  ASSERT_TRUE(backend_->map(base, page).has_value());
  ASSERT_TRUE(backend_->unmap(base).has_value());
  EXPECT_FALSE(backend_->unmap(base).has_value());
  EXPECT_TRUE(backend_->map(base + 2 * mib, page).has_value());
}

TEST_P(BackendConformance, only_unmapped_pages_are_destroyed) {
  const std::uint64_t base = *backend_->reserve_range(4 * mib);
  const PageHandle page = *backend_->create_page();
  ASSERT_TRUE(backend_->map(base, page).has_value());
  EXPECT_FALSE(backend_->destroy_page(page).has_value());
  ASSERT_TRUE(backend_->unmap(base).has_value());
  EXPECT_TRUE(backend_->destroy_page(page).has_value());
  EXPECT_FALSE(backend_->destroy_page(page).has_value());
  EXPECT_FALSE(backend_->map(base, page).has_value());
  const PageHandle again = *backend_->create_page();
  EXPECT_TRUE(backend_->map(base, again).has_value());
}

TEST_P(BackendConformance, contents_follow_the_handle) {
  if (!GetParam().has_contents) GTEST_SKIP() << "this backend has no contents";
  const std::uint64_t base = *backend_->reserve_range(8 * mib);
  const std::vector<PageHandle> pages = {*backend_->create_page(), *backend_->create_page()};
  ASSERT_TRUE(backend_->map(base, pages[0]) && backend_->map(base + 2 * mib, pages[1]));
  words(base)[0] = 11;
  words(base + 4 * mib)[-1] = 22;
  ASSERT_TRUE(backend_->unmap(base) && backend_->unmap(base + 2 * mib));
  ASSERT_TRUE(backend_->map(base + 6 * mib, pages[0]) && backend_->map(base + 4 * mib, pages[1]));
  EXPECT_EQ(words(base + 6 * mib)[0], 11U);
  EXPECT_EQ(words(base + 6 * mib)[-1], 22U);
}

TEST_P(BackendConformance, a_new_page_holds_nothing_of_a_destroyed_one) {
  if (!GetParam().has_contents) GTEST_SKIP() << "this backend has no contents";
  const std::uint64_t base = *backend_->reserve_range(2 * mib);
  const PageHandle page = *backend_->create_page();
  ASSERT_TRUE(backend_->map(base, page).has_value());
  words(base)[7] = 77;
  ASSERT_TRUE(backend_->unmap(base) && backend_->destroy_page(page));
  ASSERT_TRUE(backend_->map(base, *backend_->create_page()).has_value());
  EXPECT_EQ(words(base)[7], 0U);
}

TEST_P(BackendConformance, waiting_for_a_stream_succeeds) {
  EXPECT_TRUE(backend_->wait_for(0).has_value());
  EXPECT_TRUE(backend_->wait_for(12345).has_value());
}

// Live blocks with a pattern at both ends, the middle and wherever a page ends inside them.
class Patterns {
 public:
  explicit Patterns(bool has_contents) : has_contents_(has_contents) {}

  struct Block {
    Address address;
    std::uint64_t bytes;
    std::uint64_t seed;
  };

  void write(const Block& block) const {
    if (has_contents_)
      visit(block, [](std::uint64_t* word, std::uint64_t value) { *word = value; });
  }
  bool holds(const Block& block) const {
    bool good = true;
    if (has_contents_)
      visit(block, [&](const std::uint64_t* word, std::uint64_t value) { good &= *word == value; });
    return good;
  }

 private:
  template <class Visit>
  static void visit(const Block& block, Visit&& each) {
    const std::uint64_t last = block.address + block.bytes - 8;
    each(words(block.address), block.seed);
    each(words(last), ~block.seed);
    each(words(block.address + block.bytes / 2 + 8), block.seed * 3);
    for (std::uint64_t at = (block.address / page_bytes + 1) * page_bytes; at < last;
         at += page_bytes)
      each(words(at), block.seed + at);
  }

  bool has_contents_;
};

TEST_P(BackendConformance, no_live_byte_is_lost_over_random_operations_and_repairs) {
  HeadroomAllocator allocator(*backend_, 64 * mib);
  const Patterns patterns(GetParam().has_contents);
  std::mt19937_64 random(20);
  std::vector<Patterns::Block> live;
  std::uint64_t seed = 0;
  for (int i = 0; i < 100000; ++i) {
    const bool free = !live.empty() && random() % 100 < ((i / 300) % 2 == 0 ? 35U : 65U);
    if (free) {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(patterns.holds(live.back())) << "at operation " << i;
      allocator.free(live.back().address);
      live.pop_back();
      continue;
    }
    const std::uint64_t asked = random() % 3 == 0 ? random() % (9 * mib) : random() % 20000;
    const auto address = allocator.allocate({asked, Component::other, 0});
    if (!address) continue;
    live.push_back({*address, *allocator.block_bytes(*address), ++seed});
    patterns.write(live.back());
  }
  for (const Patterns::Block& block : live) EXPECT_TRUE(patterns.holds(block));
  EXPECT_GT(allocator.miss_counts().repairs, 50U);
  EXPECT_EQ(allocator.broken_invariant(), "");
}

INSTANTIATE_TEST_SUITE_P(Backends, BackendConformance,
                         testing::Values(Kind{"simulated", false}, Kind{"host", true}),
                         [](const auto& kind) { return kind.param.name; });

TEST(HostBackend, calls_in_a_forked_child_are_refused_with_a_reason) {
  auto backend = std::move(*HostBackend::create());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto page = backend->create_page();
    const bool told = !page && page.error().message.find("forked") != std::string::npos;
    ::_exit(told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(backend->create_page().has_value());
}

TEST(HostBackend, a_file_size_limit_is_an_error_and_not_a_signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{8 * mib, 8 * mib};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto backend = std::move(*HostBackend::create());
    int pages = 0;
    auto page = backend->create_page();
    for (; page; page = backend->create_page()) ++pages;
    ::_exit(pages == 4 && page.error().next.find("ulimit") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(HostBackend, memory_comes_back_when_the_backend_ends) {
  const auto open_files = [] {
    int count = 0;
    for (int file = 0; file < 1000; ++file) count += ::fcntl(file, F_GETFD) >= 0 ? 1 : 0;
    return count;
  };
  const int before = open_files();
  for (int i = 0; i < 50; ++i) {
    auto backend = std::move(*HostBackend::create());
    HeadroomAllocator allocator(*backend, 16 * mib);
    ASSERT_TRUE(allocator.allocate({4 * mib, Component::other, 0}).has_value());
  }
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace headroom::allocator
