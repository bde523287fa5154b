// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/virtual_memory_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "allocator/backends/host_verdict.h"
#include "allocator/backends/self_test_cache_file.h"
#include "allocator/backends/testing/fake_driver.h"

namespace headroom::allocator {
namespace {

using ::testing::HasSubstr;
using Use = VirtualMemoryVerdict::Use;

const VirtualMemoryKey key = {"gfx1100", "6.14.0-37-generic", "7.2.53211"};

SelfTestResult result_of(const VirtualMemoryKey& of, bool passed) {
  SelfTestResult result{of, self_test_version, "2026-11-22T10:00:00Z", {}};
  result.report.passed = passed;
  result.report.steps = {{"addresses", "ranges", "3 ranges", true, 1'000},
                         {"remapping", "contents follow their page", "zeros", passed}};
  result.report.measured = {.virtual_memory = passed,
                            .destroy_returns_memory = true,
                            .access_from_start_only = true,
                            .settle_ns = 4'000'000,
                            .costs = {.map = 12, .wait = 7}};
  return result;
}

VirtualMemoryVerdict verdict(const VirtualMemoryKey& of, const SelfTestCache& cache) {
  return virtual_memory_verdict(of, cache, *knowledge::load_virtual_memory());
}

TEST(VirtualMemoryVerdict, nothing_is_used_that_was_not_tested) {
  const auto found = verdict(key, {});
  EXPECT_EQ(found.use, Use::test_needed);
  EXPECT_FALSE(found.trusted.virtual_memory);
  EXPECT_THAT(found.why, HasSubstr("gfx1100 with HIP 7.2.53211"));
}

TEST(VirtualMemoryVerdict, what_passed_is_used_as_it_was_measured) {
  SelfTestCache cache;
  cache.put(result_of(key, true));
  const auto found = verdict(key, cache);
  EXPECT_EQ(found.use, Use::yes);
  EXPECT_TRUE(found.trusted.virtual_memory);
  EXPECT_TRUE(found.trusted.access_from_start_only);
  EXPECT_EQ(found.trusted.settle_ns, 4'000'000U);
}

TEST(VirtualMemoryVerdict, a_failure_names_its_step) {
  SelfTestCache cache;
  cache.put(result_of(key, false));
  const auto found = verdict(key, cache);
  EXPECT_EQ(found.use, Use::no);
  EXPECT_THAT(found.why, HasSubstr("remapping: zeros"));
  EXPECT_FALSE(found.trusted.virtual_memory);
}

TEST(VirtualMemoryVerdict, a_new_driver_runtime_gpu_or_test_asks_for_a_test) {
  SelfTestCache cache;
  cache.put(result_of(key, true));
  for (const VirtualMemoryKey& other : {VirtualMemoryKey{"gfx1101", key.driver, key.runtime},
                                        VirtualMemoryKey{key.gpu, "6.15", key.runtime},
                                        VirtualMemoryKey{key.gpu, key.driver, "7.3"}})
    EXPECT_EQ(verdict(other, cache).use, Use::test_needed);
  SelfTestResult old = result_of(key, true);
  old.test_version = self_test_version - 1;
  cache.put(old);
  EXPECT_EQ(verdict(key, cache).use, Use::test_needed);
}

TEST(VirtualMemoryVerdict, what_is_known_to_lose_data_is_off_though_it_passed) {
  const VirtualMemoryKey bad = {"gfx1201", "7.2.4-1-default", "7.2.53211"};
  SelfTestCache cache;
  cache.put(result_of(bad, true));
  const auto found = verdict(bad, cache);
  EXPECT_EQ(found.use, Use::no);
  EXPECT_THAT(found.why, HasSubstr("rocm-systems#11693"));
  EXPECT_FALSE(found.trusted.virtual_memory);
}

TEST(VirtualMemoryVerdict, what_cannot_be_told_apart_is_not_relied_on) {
  const VirtualMemoryKey unknown = {"gfx942", "", "7.2"};
  SelfTestCache cache;
  cache.put(result_of(unknown, true));
  EXPECT_EQ(verdict(unknown, cache).use, Use::test_needed);
}

TEST(VirtualMemoryVerdict, keys_are_what_the_driver_and_the_machine_say) {
  testing::FakeDriver driver;
  EXPECT_EQ(hip_key(driver, "gfx1100", "6.14"), (VirtualMemoryKey{"gfx1100", "6.14", "0.0.1"}));
  EXPECT_EQ(cuda_key(driver).gpu, "a fake GPU");
  EXPECT_EQ(hip_release(71460850), "7.14.60850");
  EXPECT_EQ(hip_release(60342134), "6.3.42134");
}

TEST(SelfTestPath, is_in_the_folder_that_the_user_names_else_below_home) {
  EXPECT_EQ(self_test_path("/cache", "/people/ada"), "/cache/headroom/virtual-memory.json");
  EXPECT_EQ(self_test_path("", "/people/ada"), "/people/ada/.cache/headroom/virtual-memory.json");
  EXPECT_EQ(self_test_path("relative", "/people/ada"),
            "/people/ada/.cache/headroom/virtual-memory.json");
  EXPECT_EQ(self_test_path("", ""), "");
}

TEST(HostVerdict, host_memory_is_refused_only_where_it_failed_with_this_kernel) {
  SelfTestCache cache;
  EXPECT_FALSE(find_host_refusal(cache, "6.14"));
  cache.put(result_of(host_key("6.14"), true));
  cache.put(result_of(host_key("6.15"), false));
  EXPECT_FALSE(find_host_refusal(cache, "6.14"));
  EXPECT_THAT(find_host_refusal(cache, "6.15").value_or(""),
              HasSubstr("host memory with Linux 6.15 failed"));
}

class SelfTestCacheFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "headroom-cache-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/virtual-memory.json";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_, path_;
};

TEST_F(SelfTestCacheFile, keeps_results_and_all_that_was_measured) {
  ASSERT_TRUE(read_self_test_cache(path_)->results().empty());
  ASSERT_TRUE(keep_self_test_result(path_, result_of(key, true)).has_value());
  const VirtualMemoryKey other = {"NVIDIA H100", "13.0", ""};
  ASSERT_TRUE(keep_self_test_result(path_, result_of(other, false)).has_value());
  const auto cache = read_self_test_cache(path_);
  ASSERT_TRUE(cache.has_value()) << cache.error().message;
  ASSERT_EQ(cache->results().size(), 2U);
  const SelfTestResult* found = cache->find(key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->when, "2026-11-22T10:00:00Z");
  EXPECT_EQ(found->report.steps, result_of(key, true).report.steps);
  EXPECT_EQ(found->report.measured.costs.map, 12U);
  EXPECT_EQ(found->report.measured.costs.wait, 7U);
  EXPECT_TRUE(found->report.measured.destroy_returns_memory);
  EXPECT_FALSE(cache->find(other)->report.passed);
}

TEST_F(SelfTestCacheFile, a_second_result_for_the_same_machine_replaces_the_first) {
  ASSERT_TRUE(keep_self_test_result(path_, result_of(key, true)).has_value());
  ASSERT_TRUE(keep_self_test_result(path_, result_of(key, false)).has_value());
  const auto cache = read_self_test_cache(path_);
  ASSERT_EQ(cache->results().size(), 1U);
  EXPECT_FALSE(cache->find(key)->report.passed);
}

TEST_F(SelfTestCacheFile, what_makes_no_sense_is_an_error_that_says_what_to_do_and_is_replaced) {
  for (const char* text :
       {"", "[]", "{", "{\"schema\": \"headroom.virtual-memory/2\", \"results\": []}",
        "{\"schema\": \"headroom.virtual-memory/1\", \"results\": [1]}"}) {
    std::ofstream(path_) << text;
    const auto cache = read_self_test_cache(path_);
    ASSERT_FALSE(cache.has_value()) << text;
    EXPECT_THAT(cache.error().next, HasSubstr("rm "));
    ASSERT_TRUE(keep_self_test_result(path_, result_of(key, true)).has_value());
    EXPECT_EQ(read_self_test_cache(path_)->results().size(), 1U);
  }
}

TEST(SelfTestCache, is_bounded_and_the_oldest_goes) {
  SelfTestCache cache;
  for (int i = 0; i < 100; ++i) cache.put(result_of({"gpu" + std::to_string(i), "d", ""}, true));
  EXPECT_EQ(cache.results().size(), 64U);
  EXPECT_EQ(cache.find({"gpu0", "d", ""}), nullptr);
  EXPECT_NE(cache.find({"gpu99", "d", ""}), nullptr);
}

TEST(SelfTestCache, results_that_contradict_themselves_are_refused) {
  SelfTestCache cache;
  SelfTestResult result = result_of(key, true);
  result.report.steps.back().passed = false;
  cache.put(result);
  EXPECT_FALSE(parse_cache(format_cache(cache)).has_value());
  result = result_of(key, true);
  result.report.measured.settle_ns = 3'600'000'000'000;
  SelfTestCache slow;
  slow.put(result);
  EXPECT_FALSE(parse_cache(format_cache(slow)).has_value());
}

}  // namespace
}  // namespace headroom::allocator
