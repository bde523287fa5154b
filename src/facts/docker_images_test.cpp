// SPDX-License-Identifier: Apache-2.0
#include "facts/docker_images.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

constexpr const char* pulled_twice = R"({"Repositories": {
  "rocm/pytorch": {"rocm/pytorch:latest": "sha256:new", "rocm/pytorch@sha256:dnew": "sha256:new",
                   "rocm/pytorch@sha256:dold": "sha256:old",
                   "rocm/pytorch@sha256:dolder": "sha256:older"},
  "mine": {"mine:latest": "sha256:built"}}})";

std::vector<DockerImage> dated() {
  auto images = parse_docker_repositories(pulled_twice);
  for (DockerImage& one : images) {
    if (one.id == "sha256:new") one.time = "2026-05-08T10:00:00";
    if (one.id == "sha256:old") one.time = "2026-04-08T10:00:00";
    if (one.id == "sha256:older") one.time = "2026-03-08T10:00:00";
  }
  return images;
}

TEST(DockerImages, a_tag_that_was_pulled_again_names_the_image_before) {
  const auto changes = changes_of(dated());
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].package, "rocm/pytorch:latest");
  EXPECT_EQ(changes[0].from, "rocm/pytorch@sha256:dold");
  EXPECT_EQ(changes[0].to, "rocm/pytorch@sha256:dnew");
  EXPECT_EQ(changes[0].time, "2026-05-08T10:00:00");
}

TEST(DockerImages, without_an_older_one_it_is_new_and_without_a_time_nothing) {
  auto images = dated();
  for (DockerImage& one : images) {
    if (one.id == "sha256:built") one.time = "2026-05-01T10:00:00";
    if (one.id == "sha256:new") one.time.clear();
  }
  const auto changes = changes_of(images);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].package, "mine:latest");
  EXPECT_EQ(changes[0].from, "");
  EXPECT_EQ(changes[0].to, "sha256:built");
}

TEST(DockerImages, what_is_no_such_file_has_no_images) {
  for (const char* text :
       {"", "[]", "{", R"({"Repositories": []})", R"({"Repositories": {"a": 1}})",
        R"({"Repositories": {"a": {"a:b": 1}}})"}) {
    EXPECT_TRUE(parse_docker_repositories(text).empty()) << text;
  }
}

}  // namespace
}  // namespace headroom::facts
