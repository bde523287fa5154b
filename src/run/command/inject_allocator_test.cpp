// SPDX-License-Identifier: Apache-2.0
#include "run/command/inject_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace headroom::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const InjectedFiles files{"/usr/lib/libheadroom_torch.so", "/usr/lib/libheadroom_onnx.so",
                          "/usr/share/headroom/python/site"};

TEST(InjectAllocator, is_first_on_the_path_and_hides_nothing_of_it) {
  CommandEnvironment environment{{"PYTHONPATH=/srv/lib:/opt/lib", "HOME=/srv"}, {}};
  ASSERT_TRUE(inject_allocator(files, std::nullopt, environment));
  EXPECT_THAT(environment.variables,
              ElementsAre("PYTHONPATH=/usr/share/headroom/python/site:/srv/lib:/opt/lib",
                          "HOME=/srv", "HEADROOM_TORCH_LIBRARY=/usr/lib/libheadroom_torch.so",
                          "HEADROOM_ONNX_LIBRARY=/usr/lib/libheadroom_onnx.so"));
}

// An empty part of PYTHONPATH would be the working folder.
TEST(InjectAllocator, an_empty_path_gets_no_empty_part) {
  CommandEnvironment environment{{"PYTHONPATH="}, {}};
  ASSERT_TRUE(inject_allocator(files, std::nullopt, environment));
  EXPECT_EQ(environment.variables.front(), "PYTHONPATH=/usr/share/headroom/python/site");
}

TEST(InjectAllocator, says_of_splitting_what_was_said_and_else_nothing) {
  CommandEnvironment environment{{"HEADROOM_SPLIT=off"}, {}};
  ASSERT_TRUE(inject_allocator(files, std::nullopt, environment));
  EXPECT_EQ(environment.variables.front(), "HEADROOM_SPLIT=off");
  ASSERT_TRUE(inject_allocator(files, true, environment));
  EXPECT_EQ(environment.variables.front(), "HEADROOM_SPLIT=on");
  ASSERT_TRUE(inject_allocator(files, false, environment));
  EXPECT_EQ(environment.variables.front(), "HEADROOM_SPLIT=off");
}

TEST(InjectAllocator, a_folder_that_the_path_cannot_hold_is_refused) {
  CommandEnvironment environment{{"PYTHONPATH=/opt/lib"}, {}};
  const auto refused = inject_allocator({files.torch_library, files.onnx_library, "/srv/a:b/site"},
                                        std::nullopt, environment);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("/srv/a:b/site"));
  EXPECT_THAT(environment.variables, ElementsAre("PYTHONPATH=/opt/lib"));
}

}  // namespace
}  // namespace headroom::run
