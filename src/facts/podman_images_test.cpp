// SPDX-License-Identifier: Apache-2.0
#include "facts/podman_images.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

constexpr const char* images = R"([
  {"id": "aaa", "names-history": ["docker.io/rocm/vllm:latest"], "layer": "l1",
   "created": "2026-03-01T00:00:00Z"},
  {"id": "bbb", "names-history": ["docker.io/rocm/vllm:latest"], "layer": "l2"},
  {"id": "ccc", "names": ["docker.io/rocm/vllm:latest", "localhost/mine:1"], "layer": "l3",
   "names-history": ["docker.io/rocm/vllm:latest"], "created": "2026-04-30T00:00:00Z"}])";
constexpr const char* layers = R"([
  {"id": "l1", "created": "2026-04-02T08:00:00.12Z"}, {"id": "l2", "created": "2026-05-02T08:00:00Z"},
  {"id": "l3", "parent": "l2", "created": "2026-05-08T08:00:00.123456789Z"}])";

TEST(PodmanImages, a_name_that_went_to_another_image_tells_which_one_had_it_before) {
  const auto changes = changes_of(*parse_podman_images(images, layers));
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].package, "docker.io/rocm/vllm:latest");
  EXPECT_EQ(changes[0].from, "bbb");
  EXPECT_EQ(changes[0].to, "ccc");
  EXPECT_EQ(changes[0].action, PackageAction::upgrade);
  EXPECT_EQ(changes[1].package, "localhost/mine:1");
  EXPECT_EQ(changes[1].from, "");
}

TEST(PodmanImages, an_image_was_pulled_when_its_top_layer_was_made_and_not_when_it_was_built) {
  EXPECT_EQ(changes_of(*parse_podman_images(images, layers))[0].time, "2026-05-08T00:00:00");
  EXPECT_TRUE(changes_of(*parse_podman_images(images, "[]")).empty());
}

TEST(PodmanImages, what_is_no_such_list_is_refused_and_what_is_odd_in_it_passed_over) {
  for (const char* text : {"", "{}", "[", "3"}) {
    EXPECT_FALSE(parse_podman_images(text, "[]")) << text;
    EXPECT_FALSE(parse_podman_images("[]", text)) << text;
  }
  const auto odd = parse_podman_images(R"([1, {"id": 2, "names": [3, "a"], "layer": "l1"}])",
                                       R"([null, {"id": "l1", "created": 5}])");
  ASSERT_TRUE(odd);
  ASSERT_EQ(odd->size(), 1U);
  EXPECT_TRUE(changes_of(*odd).empty());
}

}  // namespace
}  // namespace headroom::facts
