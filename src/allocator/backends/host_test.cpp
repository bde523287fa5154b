// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/host.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "allocator/backends/host_access.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/self_test/timed_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

TEST(HostBackend, a_new_page_holds_nothing_of_a_destroyed_one) {
  const auto backend = *HostBackend::create();
  HostAccess access(*backend);
  const std::uint64_t base = *backend->reserve_range(2 * mib);
  const PageHandle page = *backend->create_pages(1);
  std::uint64_t word = 77;
  ASSERT_TRUE(backend->map(base, page) && access.write(base + 56, {&word, 1}));
  ASSERT_TRUE(backend->unmap(base) && backend->destroy_pages(page));
  ASSERT_TRUE(backend->map(base, *backend->create_pages(1)) && access.read(base + 56, {&word, 1}));
  EXPECT_EQ(word, 0U);
}

TEST(HostBackend, knows_how_many_mappings_the_kernel_allows) {
  std::uint64_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  EXPECT_EQ((*HostBackend::create())->capabilities().max_mappings, limit);
}

TEST(HostBackend, says_what_its_calls_cost_when_asked) {
  for (const auto virtual_memory :
       {HostBackend::VirtualMemory::on, HostBackend::VirtualMemory::off}) {
    const auto backend = *HostBackend::create(virtual_memory);
    HostAccess access(*backend);
    const auto costs = measure_costs(*backend, [&] { return access.now_ns(); });
    ASSERT_TRUE(costs.has_value());
    EXPECT_GT(costs->allocate, 0U);
    EXPECT_EQ(costs->map > 0, virtual_memory == HostBackend::VirtualMemory::on);
    EXPECT_EQ(*backend->held_bytes(), 0U) << "all pages were given back";
  }
}

TEST(HostBackend, calls_in_a_forked_child_are_refused_with_a_reason) {
  auto backend = std::move(*HostBackend::create());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto page = backend->create_pages(1);
    const bool told = !page && page.error().message.find("forked") != std::string::npos;
    ::_exit(told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(backend->create_pages(1).has_value());
}

TEST(HostBackend, a_file_size_limit_is_an_error_and_not_a_signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{8 * mib, 8 * mib};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto backend = std::move(*HostBackend::create());
    int pages = 0;
    auto page = backend->create_pages(1);
    for (; page; page = backend->create_pages(1)) ++pages;
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
