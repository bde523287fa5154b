// SPDX-License-Identifier: Apache-2.0
// An out of memory in the slot becomes the exception of the PyTorch that is loaded, old or new, and
// a plain one where none is. FAKE_C10 says which: "new", "old", or nothing at all.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "faces/torch/headroom_torch.h"

namespace headroom::torch_face {
namespace {

using ::testing::HasSubstr;
using Slot = void* (*)(std::size_t, int, void*);

constexpr std::size_t too_much = std::size_t{1} << 40U;

std::string which() {
  const char* variable = std::getenv("FAKE_C10");
  return variable == nullptr ? "" : variable;
}

template <class Function>
Function find(const char* library, const char* name) {
  void* const opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(opened, nullptr) << ::dlerror();
  return opened == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(opened, name));
}

TEST(TorchErrors, are_those_of_the_pytorch_that_is_loaded) {
  const auto slot = find<Slot>(HEADROOM_TORCH_LIBRARY, "headroom_torch_malloc");
  ASSERT_NE(slot, nullptr);
  if (which().empty()) {
    try {
      slot(too_much, 0, nullptr);
      FAIL() << "there is no room for that";
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(" out of memory. Tried to allocate 1024.00 GiB"));
    }
    return;
  }
  const auto alive = find<int (*)()>("libc10.so", "fake_c10_alive");
  const auto attempt = find<char (*)(Slot, std::size_t, char*, std::size_t)>(
      which() == "old" ? "libc10_cuda.so" : "libc10.so", "fake_c10_try");
  ASSERT_TRUE(alive != nullptr && attempt != nullptr);
  std::array<char, 4096> text{};
  EXPECT_EQ(attempt(nullptr, 0, text.data(), text.size()), 'm') << "the stand-in itself";
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(attempt(slot, too_much, text.data(), text.size()), 'm');
    EXPECT_THAT(text.data(), HasSubstr(" out of memory. Tried to allocate 1024.00 GiB"));
    EXPECT_THAT(text.data(), HasSubstr("of a capacity of 64.0 MiB"));
  }
  EXPECT_EQ(alive(), 0) << "exceptions that were never destroyed";
  EXPECT_EQ(attempt(slot, 4096, text.data(), text.size()), 'b');
}

}  // namespace
}  // namespace headroom::torch_face
