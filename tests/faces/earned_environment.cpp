// SPDX-License-Identifier: Apache-2.0
// For a second run of the slots' tests: a GPU whose virtual memory passed its self-test, flight
// recordings, and budgets that processes share. WITH_FILES in the environment asks for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "allocator/backends/self_test_cache_file.h"
#include "allocator/backends/virtual_memory_verdict.h"
#include "machine/temporary_folder.h"

namespace headroom::torch_face {
namespace {

using allocator::SelfTestResult;

class WithFiles : public ::testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("WITH_FILES") == nullptr) return;
    folder_ = *machine::TemporaryFolder::make();
    const std::string kept = folder_->path() + "/virtual-memory.json";
    SelfTestResult result{
        {"a fake GPU", "13.0", ""}, allocator::self_test_version, "2026-11-22T10:00:00Z", {}};
    result.report.passed = true;
    result.report.steps = {{"remapping", "contents follow their page", "they do", true}};
    result.report.measured = {.virtual_memory = true, .destroy_returns_memory = true};
    ASSERT_TRUE(keep_self_test_result(kept, result));
    ::setenv("HEADROOM_ALLOCATOR_SELF_TESTS", kept.c_str(), 1);
    ::setenv("HEADROOM_ALLOCATOR_RECORDINGS", folder_->path().c_str(), 1);
    ::setenv("HEADROOM_ALLOCATOR_BUDGETS", folder_->path().c_str(), 1);
  }

 private:
  std::optional<machine::TemporaryFolder> folder_;
};

// GoogleTest owns it.
const auto* const with_files = ::testing::AddGlobalTestEnvironment(new WithFiles);

}  // namespace
}  // namespace headroom::torch_face
