// SPDX-License-Identifier: Apache-2.0
#include "run/command/inject_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "run/command/variables.h"

namespace headroom::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const InjectedFiles files{"/usr/lib/libheadroom_torch.so", "/usr/lib/libheadroom_onnx.so",
                          "/usr/lib/libheadroom_hip.so", "/usr/lib/libheadroom_preload.so",
                          "/usr/share/headroom/python/site"};

TEST(InjectAllocator, is_first_on_the_path_and_hides_nothing_of_it) {
  CommandEnvironment environment{{"PYTHONPATH=/srv/lib:/opt/lib", "HOME=/srv"}, {}};
  ASSERT_TRUE(inject_allocator(files, std::nullopt, environment));
  EXPECT_THAT(environment.variables,
              ElementsAre("PYTHONPATH=/usr/share/headroom/python/site:/srv/lib:/opt/lib",
                          "HOME=/srv", "HEADROOM_TORCH_LIBRARY=/usr/lib/libheadroom_torch.so",
                          "HEADROOM_ONNX_LIBRARY=/usr/lib/libheadroom_onnx.so",
                          "LD_PRELOAD=/usr/lib/libheadroom_preload.so",
                          "HEADROOM_HIP_LIBRARY=/usr/lib/libheadroom_hip.so"));
  EXPECT_THAT(environment.said, IsEmpty());
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
  InjectedFiles elsewhere = files;
  elsewhere.python_site = "/srv/a:b/site";
  const auto refused = inject_allocator(elsewhere, std::nullopt, environment);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("/srv/a:b/site"));
  EXPECT_THAT(environment.variables, ElementsAre("PYTHONPATH=/opt/lib"));
}

TEST(InjectAllocator, the_users_own_libraries_are_preloaded_first) {
  CommandEnvironment environment{{"LD_PRELOAD=/opt/own.so /opt/other.so"}, {}};
  ASSERT_TRUE(inject_allocator(files, std::nullopt, environment));
  EXPECT_EQ(environment.variables.front(),
            "LD_PRELOAD=/opt/own.so /opt/other.so:/usr/lib/libheadroom_preload.so");
}

// headroom run under headroom run.
TEST(InjectAllocator, what_is_preloaded_already_is_not_preloaded_twice) {
  for (const char* before : {"LD_PRELOAD=/usr/lib/libheadroom_preload.so",
                             "LD_PRELOAD=/usr/lib/libheadroom_preload.so /opt/own.so",
                             "LD_PRELOAD=/opt/own.so:/usr/lib/libheadroom_preload.so"}) {
    CommandEnvironment environment{{before}, {}};
    ASSERT_TRUE(inject_allocator(files, std::nullopt, environment));
    EXPECT_EQ(environment.variables.front(), before);
  }
  CommandEnvironment another{{"LD_PRELOAD=/opt/usr/lib/libheadroom_preload.so"}, {}};
  ASSERT_TRUE(inject_allocator(files, std::nullopt, another));
  EXPECT_EQ(another.variables.front(),
            "LD_PRELOAD=/opt/usr/lib/libheadroom_preload.so:/usr/lib/libheadroom_preload.so");
}

TEST(InjectAllocator, a_path_that_the_loader_would_cut_is_left_out_by_name) {
  for (const char* path : {"/srv/my programs/preload.so", "/srv/a:b/preload.so"}) {
    CommandEnvironment environment{{"LD_PRELOAD=/opt/own.so"}, {}};
    InjectedFiles elsewhere = files;
    elsewhere.preload_library = path;
    ASSERT_TRUE(inject_allocator(elsewhere, std::nullopt, environment));
    EXPECT_EQ(environment.variables.front(), "LD_PRELOAD=/opt/own.so");
    EXPECT_EQ(value_of(environment.variables, "HEADROOM_HIP_LIBRARY"), std::nullopt);
    EXPECT_THAT(environment.said, ElementsAre(HasSubstr(path)));
  }
}

}  // namespace
}  // namespace headroom::run
