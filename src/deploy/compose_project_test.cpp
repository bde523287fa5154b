// SPDX-License-Identifier: Apache-2.0
#include "deploy/compose_project.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::deploy {
namespace {

constexpr std::string_view text = "name: shown\nservices:\n  ml:\n    profiles: [gpu, all]\n";
constexpr std::string_view unnamed = "services:\n  ml: {image: a}\n";

ComposePlace place() {
  return {"/srv/_My Photos-2", "ml", {}, {}};
}

TEST(ComposeProject, its_name_comes_from_the_environment_the_file_or_the_folder) {
  ComposePlace where = place();
  EXPECT_EQ(read_compose_project(where, "f", unnamed)->name, "myphotos-2");
  EXPECT_EQ(read_compose_project(where, "f", text)->name, "shown");
  where.environment_file = "# COMPOSE_PROJECT_NAME=no\nCOMPOSE_PROJECT_NAME = \"beside\"\n";
  EXPECT_EQ(read_compose_project(where, "f", text)->name, "beside");
  where.name = "given";
  EXPECT_EQ(read_compose_project(where, "f", text)->name, "given");
}

TEST(ComposeProject, profiles_of_the_service_are_read) {
  EXPECT_THAT(read_compose_project(place(), "f", text)->profiles,
              testing::ElementsAre("gpu", "all"));
}

TEST(ComposeProject, a_name_behind_variables_is_asked_for) {
  const auto found = read_compose_project(place(), "f", "name: ${X}\nservices: {ml: {image: a}}\n");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::invalid);
  EXPECT_THAT(found.error().next, testing::HasSubstr("COMPOSE_PROJECT_NAME"));
}

TEST(ComposeProject, a_service_that_is_not_in_the_file_is_not_found) {
  EXPECT_EQ(read_compose_project(place(), "f", "services: {web: {image: a}}\n").error().code,
            Errc::not_found);
  EXPECT_EQ(read_compose_project(place(), "f", "services: [").error().code, Errc::invalid);
}

TEST(ComposeProject, its_services_are_named_in_their_order) {
  EXPECT_THAT(*read_compose_services("services: {web: {image: a}, ml: {image: b}}\n"),
              testing::ElementsAre("web", "ml"));
  EXPECT_THAT(*read_compose_services("volumes: {data: {}}\n"), testing::IsEmpty());
  EXPECT_EQ(read_compose_services("services: [").error().code, Errc::invalid);
}

}  // namespace
}  // namespace headroom::deploy
