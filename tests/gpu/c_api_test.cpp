// SPDX-License-Identifier: Apache-2.0
// A program that opens a GPU by the C interface: virtual memory only where the verdict on this very
// GPU, driver and runtime is yes, and otherwise not one call of it; and what others hold of the
// GPU. On stand-ins for the vendors' libraries, which CMake names in LD_LIBRARY_PATH.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <headroom/allocator.h>

#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>

#include "allocator/backends/host_verdict.h"
#include "allocator/backends/self_test_cache_file.h"
#include "allocator/backends/virtual_memory_verdict.h"
#include "base/text.h"
#include "machine/private_folders.h"
#include "machine/temporary_folder.h"
#include "machine/user_files.h"

namespace headroom::allocator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

struct Kind {
  const char* name;
  std::uint32_t backend;
  const char* library;
  const char* gpu_target;  // What the caller says it is.
  VirtualMemoryKey key;    // What a self-test is kept under; an empty driver is this kernel.
  const char* counter;     // Who counts free memory.
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

const Kind kinds[] = {
    {"hip",
     HEADROOM_BACKEND_HIP,
     "libamdhip64.so.7",
     "gfx1100:xnack-",
     {"gfx1100", "", "7.2.53211"},
     "hipMemGetInfo"},
    {"cuda",
     HEADROOM_BACKEND_CUDA,
     "libcuda.so.1",
     nullptr,
     {"a fake GPU", "13.0", ""},
     "cuMemGetInfo"},
};

class OpenedGpu : public ::testing::TestWithParam<Kind> {
 protected:
  OpenedGpu() : folder_(*machine::TemporaryFolder::make()) {}
  void SetUp() override {
    library_ = ::dlopen(GetParam().library, RTLD_NOW);
    if (library_ == nullptr || ::dlsym(library_, "fake_gpu_count") == nullptr)
      GTEST_SKIP() << "LD_LIBRARY_PATH does not name the stand-ins";
    // No result of this machine's own counts here.
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1), 0);
    options_.backend = GetParam().backend;
    options_.gpu_target = GetParam().gpu_target;
    options_.capacity_bytes = 64 * mib;
    key_ = GetParam().key;
    if (key_.driver.empty())
      key_.driver = std::string(trim(*machine::read_file("/proc/sys/kernel/osrelease")));
  }
  void TearDown() override {
    if (library_ != nullptr) ::dlclose(library_);
  }

  std::uint64_t asked(const char* what) const {
    const auto count =
        reinterpret_cast<std::uint64_t (*)(int, const char*)>(::dlsym(library_, "fake_gpu_count"));
    return count == nullptr ? 0 : count(0, what);
  }
  // Keeps such a result, and lets the options name the file.
  void keep(const VirtualMemoryKey& key, bool passed, int version = self_test_version) {
    path_ = folder_.path() + "/virtual-memory.json";
    SelfTestResult result{key, version, "2026-11-22T10:00:00Z", {}};
    result.report.passed = passed;
    result.report.steps = {{"remapping", "contents follow their page", "they do", passed}};
    result.report.measured = {.virtual_memory = passed, .destroy_returns_memory = true};
    ASSERT_TRUE(keep_self_test_result(path_, result));
    options_.self_test_path = path_.c_str();
  }
  // Opens the GPU, lets the allocator map, move and give back if it can, and says what it is; how
  // many calls of virtual memory that was goes to calls_.
  std::string use() {
    const std::uint64_t before = asked("virtual_memory_calls");
    std::string text(1000, ' ');
    headroom_allocator* allocator = headroom_allocator_create(&options_);
    if (allocator == nullptr) {
      text = headroom_last_error();
    } else {
      text.resize(headroom_allocator_describe(allocator, text.data(), text.size()));
      void* blocks[8] = {};
      for (void*& block : blocks)
        block = headroom_allocate(allocator, 8 * mib, nullptr, {HEADROOM_OTHER, 0});
      for (int i = 0; i < 8; i += 2)
        EXPECT_EQ(headroom_free(allocator, blocks[i], nullptr), HEADROOM_OK);
      headroom_allocate(allocator, 24 * mib, nullptr, {HEADROOM_OTHER, 0});
      EXPECT_EQ(headroom_trim(allocator, nullptr), HEADROOM_OK);
      headroom_allocator_destroy(allocator);
    }
    calls_ = asked("virtual_memory_calls") - before;
    return text;
  }

  machine::TemporaryFolder folder_;
  std::string path_;
  headroom_allocator_options options_ = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  VirtualMemoryKey key_;
  void* library_ = nullptr;
  std::uint64_t calls_ = 0;
};

TEST_P(OpenedGpu, has_virtual_memory_where_this_one_passed_its_self_test) {
  keep(key_, true);
  EXPECT_THAT(use(), HasSubstr("passed its self-test on 2026-11-22"));
  EXPECT_GT(calls_, 20U);
}

TEST_P(OpenedGpu, has_it_by_what_the_users_own_file_says_where_none_is_named) {
  keep(key_, true);
  const std::string folder = folder_.path() + "/headroom";
  ASSERT_TRUE(machine::make_private_folders_above(folder + "/virtual-memory.json"));
  ASSERT_EQ(std::rename(path_.c_str(), (folder + "/virtual-memory.json").c_str()), 0);
  options_.self_test_path = nullptr;
  EXPECT_THAT(use(), HasSubstr("passed its self-test on 2026-11-22"));
  EXPECT_GT(calls_, 20U);
  options_.self_test_path = "";
  EXPECT_THAT(use(), HasSubstr("was not tested here yet"));
  EXPECT_EQ(calls_, 0U);
  std::ofstream(folder + "/virtual-memory.json") << "{\"results\": 7";
  options_.self_test_path = nullptr;
  EXPECT_THAT(use(), AllOf(HasSubstr("without virtual memory"), HasSubstr("virtual-memory.json")));
  EXPECT_EQ(calls_, 0U);
}

TEST_P(OpenedGpu, has_none_that_nobody_tested) {
  EXPECT_THAT(use(), HasSubstr("without virtual memory"));
  EXPECT_EQ(calls_, 0U);
  const std::string nowhere = folder_.path() + "/absent.json";
  options_.self_test_path = nowhere.c_str();
  EXPECT_THAT(use(), HasSubstr("was not tested here yet"));
  EXPECT_EQ(calls_, 0U);
}

TEST_P(OpenedGpu, has_none_that_failed_or_that_another_version_tested) {
  keep(key_, false);
  EXPECT_THAT(use(), HasSubstr("failed its self-test"));
  EXPECT_EQ(calls_, 0U);
  keep(key_, true, self_test_version + 1);
  EXPECT_THAT(use(), HasSubstr("without virtual memory"));
  EXPECT_EQ(calls_, 0U);
}

TEST_P(OpenedGpu, has_none_that_passed_with_another_gpu_driver_or_runtime) {
  for (std::string VirtualMemoryKey::*part :
       {&VirtualMemoryKey::gpu, &VirtualMemoryKey::driver, &VirtualMemoryKey::runtime}) {
    VirtualMemoryKey other = key_;
    other.*part += "1";
    keep(other, true);
    EXPECT_THAT(use(), HasSubstr("was not tested here yet"));
    EXPECT_EQ(calls_, 0U);
    ASSERT_TRUE(std::remove(path_.c_str()) == 0);
  }
}

TEST_P(OpenedGpu, has_none_where_the_caller_does_not_want_it) {
  keep(key_, true);
  options_.virtual_memory = HEADROOM_VIRTUAL_MEMORY_OFF;
  EXPECT_THAT(use(), HasSubstr("switched off"));
  EXPECT_EQ(calls_, 0U);
}

TEST_P(OpenedGpu, is_refused_where_virtual_memory_is_required_and_not_earned) {
  options_.virtual_memory = HEADROOM_VIRTUAL_MEMORY_REQUIRED;
  EXPECT_THAT(use(), HasSubstr("expected virtual memory that passed its self-test"));
  EXPECT_EQ(calls_, 0U);
  keep(key_, true);
  EXPECT_THAT(use(), HasSubstr("passed its self-test"));
  EXPECT_GT(calls_, 20U);
}

TEST_P(OpenedGpu, is_refused_where_the_kept_results_make_no_sense) {
  path_ = folder_.path() + "/virtual-memory.json";
  std::ofstream(path_) << "{\"results\": 7";
  options_.self_test_path = path_.c_str();
  EXPECT_THAT(use(), HasSubstr("virtual-memory.json"));
  EXPECT_EQ(calls_, 0U);
}

TEST_P(OpenedGpu, knows_what_others_hold_and_asks_once_for_each_report) {
  options_.capacity_bytes = 128 * mib;
  headroom_allocator* other = headroom_allocator_create(&options_);
  headroom_allocator* allocator = headroom_allocator_create(&options_);
  ASSERT_TRUE(other != nullptr && allocator != nullptr) << headroom_last_error();
  ASSERT_NE(headroom_allocate(other, 100 * mib, nullptr, {HEADROOM_OTHER, 0}), nullptr);
  ASSERT_NE(headroom_allocate(allocator, 64 * mib, nullptr, {HEADROOM_OTHER, 0}), nullptr);
  const headroom_request request = {100 * mib, nullptr, {HEADROOM_LOGITS, 0}};
  EXPECT_EQ(headroom_allocate(allocator, request.bytes, nullptr, request.tag), nullptr);
  const std::uint64_t before = asked("memory_info_calls");
  std::string text(8192, ' ');
  text.resize(
      headroom_explain(allocator, &request, HEADROOM_FORMAT_TEXT, text.data(), text.size()));
  EXPECT_THAT(text,
              HasSubstr("held outside this process: 100.0 MiB of the device's 512.0 MiB, says " +
                        std::string(GetParam().counter)));
  EXPECT_EQ(asked("memory_info_calls") - before, 1U);
  headroom_allocator_destroy(allocator);
  headroom_allocator_destroy(other);
}

std::string describe(const headroom_allocator_options& options) {
  headroom_allocator* allocator = headroom_allocator_create(&options);
  if (allocator == nullptr) return headroom_last_error();
  std::string text(1000, ' ');
  text.resize(headroom_allocator_describe(allocator, text.data(), text.size()));
  headroom_allocator_destroy(allocator);
  return text;
}

TEST(HostMemory, is_not_remapped_where_its_self_test_failed_with_this_kernel) {
  const auto folder = *machine::TemporaryFolder::make();
  const std::string path = folder.path() + "/virtual-memory.json";
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  options.backend = HEADROOM_BACKEND_HOST;
  options.capacity_bytes = 64 * mib;
  options.self_test_path = path.c_str();
  EXPECT_THAT(describe(options), HasSubstr("with virtual memory"));
  for (const bool here : {false, true}) {
    SelfTestResult result{host_key(here ? running_kernel() : "another"),
                          self_test_version,
                          "2026-11-22T10:00:00Z",
                          {}};
    result.report.steps = {{"remapping", "contents follow their page", "zeros", false}};
    ASSERT_TRUE(keep_self_test_result(path, result));
    EXPECT_THAT(describe(options),
                HasSubstr(here ? "failed its self-test" : "with virtual memory"));
  }
  options.virtual_memory = HEADROOM_VIRTUAL_MEMORY_REQUIRED;
  EXPECT_THAT(describe(options), HasSubstr("expected virtual memory that passed its self-test"));
}

INSTANTIATE_TEST_SUITE_P(stand_in, OpenedGpu, ::testing::ValuesIn(kinds),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace headroom::allocator
