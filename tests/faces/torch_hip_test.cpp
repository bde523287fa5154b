// SPDX-License-Identifier: Apache-2.0
// The slots in a process that has HIP's runtime loaded and not CUDA's, as PyTorch's build for ROCm
// has; on the stand-in for HIP, which CMake names in LD_LIBRARY_PATH.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>

#include "faces/hip/headroom_hip.h"
#include "faces/torch/headroom_torch.h"

namespace headroom::torch_face {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class Function>
void find(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  ASSERT_NE(function, nullptr) << name;
}

TEST(SlotsOnHip, are_found_by_the_runtime_that_is_loaded_and_speak_of_hip) {
  void* const library = ::dlopen(HEADROOM_TORCH_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << ::dlerror();
  decltype(&headroom_torch_check) check = nullptr;
  decltype(&headroom_torch_malloc) allocate = nullptr;
  decltype(&headroom_torch_set_gpu_target) set_target = nullptr;
  decltype(&headroom_torch_allocator) allocator = nullptr;
  decltype(&headroom_allocator_describe) describe = nullptr;
  find(library, check, "headroom_torch_check");
  find(library, allocate, "headroom_torch_malloc");
  find(library, set_target, "headroom_torch_set_gpu_target");
  find(library, allocator, "headroom_torch_allocator");
  find(library, describe, "headroom_allocator_describe");
  std::array<char, 400> text{};
  EXPECT_EQ(check(text.data(), text.size()), 0) << "no runtime is loaded yet";
  EXPECT_THAT(text.data(), HasSubstr("found neither"));

  if (::dlopen("libamdhip64.so.7", RTLD_NOW) == nullptr)
    GTEST_SKIP() << "LD_LIBRARY_PATH does not name the stand-ins";
  EXPECT_EQ(check(text.data(), text.size()), 1) << text.data();
  EXPECT_EQ(allocator(1), nullptr);
  set_target(1, "gfx1100");
  EXPECT_NE(allocate(1 << 20, 1, nullptr), nullptr);
  ASSERT_NE(describe(allocator(1), text.data(), text.size()), 0U);
  EXPECT_THAT(text.data(), AllOf(HasSubstr("a fake GPU by HIP"), HasSubstr("gfx1100")));
  try {
    allocate(std::size_t{1} << 40U, 1, nullptr);
    FAIL() << "there is no room for that";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(),
                StartsWith("HIP out of memory. Tried to allocate 1024.00 GiB on GPU 1"));
  }
  // Beside libheadroom_hip.so, what the allocator asks of the runtime goes there directly.
  HeadroomHipCounts counts{};
  counts.size = sizeof counts;
  using GetCounts = decltype(headroom_hip_get_counts);
  if (auto* get = reinterpret_cast<GetCounts*>(::dlsym(RTLD_DEFAULT, "headroom_hip_get_counts"))) {
    EXPECT_EQ(get(&counts), 0);
    EXPECT_EQ(counts.passed_on + counts.allocations, 0U);
  }
}

}  // namespace
}  // namespace headroom::torch_face
