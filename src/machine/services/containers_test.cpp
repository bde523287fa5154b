// SPDX-License-Identifier: Apache-2.0
// What engines print, in the words that Podman 5.4 and Docker 27 have for it.
#include "machine/services/containers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "machine/services/compose_files.h"
#include "machine/temporary_folder.h"
#include "machine/user_files.h"

namespace headroom::machine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view a_container = R"([{
  "Id": "91f4da22", "Name": "/photos-ml-1", "RestartCount": 3,
  "State": {"Status": "restarting", "Running": true, "Paused": false, "Restarting": true,
            "OOMKilled": true, "Dead": false, "Pid": 0, "ExitCode": 134, "Error": "",
            "StartedAt": "2026-11-23T02:36:16.981751411Z", "Health": {"Status": "unhealthy"}},
  "Config": {"Env": ["TOKEN=hushhush"], "Labels": {
    "com.docker.compose.project": "photos", "com.docker.compose.oneoff": "False",
    "com.docker.compose.project.working_dir": "/srv/photos",
    "com.docker.compose.project.config_files": "compose.yaml,/srv/gpu.yaml"}},
  "HostConfig": {"Memory": 209715200, "RestartPolicy": {"Name": "always", "MaximumRetryCount": 0}}
}])";

ContainerState made(const std::string& status, const std::string& policy, int code) {
  ContainerState state;
  state.status = status;
  state.restart_policy = policy;
  state.exit_code = code;
  return state;
}

TEST(Containers, inspect_is_read_and_the_environment_is_not) {
  const auto found = parse_containers(a_container);
  ASSERT_TRUE(found);
  const ContainerState& it = found->front();
  EXPECT_EQ(it.name, "photos-ml-1");
  EXPECT_EQ(it.exit_code, 134);
  EXPECT_EQ(it.restarts, 3U);
  EXPECT_TRUE(it.oom_killed);
  EXPECT_EQ(it.health, "unhealthy");
  EXPECT_EQ(it.memory_limit, Bytes{209715200});
  EXPECT_FALSE(it.once);
  EXPECT_FALSE(is_up(it));
  EXPECT_TRUE(is_made_of(it, "/srv/photos/compose.yaml"));
  EXPECT_TRUE(is_made_of(it, "/srv/gpu.yaml"));
  EXPECT_FALSE(is_made_of(it, "/srv/compose.yaml"));
}

TEST(Containers, what_is_no_list_of_containers_is_an_error) {
  EXPECT_EQ(parse_containers("").error().code, Errc::invalid);
  EXPECT_EQ(parse_containers("{}").error().code, Errc::invalid);
  EXPECT_EQ(parse_containers("[1]").error().code, Errc::invalid);
  EXPECT_EQ(parse_containers(R"([{"Id": "a", "State": 7}])").error().code, Errc::invalid);
  EXPECT_THAT(*parse_containers("[]"), IsEmpty());
}

TEST(Containers, the_policy_says_whether_it_comes_again) {
  EXPECT_TRUE(is_to_restart(made("exited", "always", 0)));
  EXPECT_TRUE(is_to_restart(made("exited", "on-failure", 1)));
  EXPECT_FALSE(is_to_restart(made("exited", "on-failure", 0)));
  EXPECT_FALSE(is_to_restart(made("exited", "no", 1)));
  EXPECT_FALSE(is_to_restart(made("created", "always", 0)));
  ContainerState tired = made("exited", "on-failure", 1);
  tired.restarts = tired.most_restarts = 5;
  EXPECT_FALSE(is_to_restart(tired));
}

TEST(Containers, ends_are_read_in_the_words_of_both_engines) {
  EXPECT_THAT(parse_ends(R"({"Action":"die","Actor":{"Attributes":{"exitCode":"134"}},"timeNano":2}
{"Action":"die","Actor":{"Attributes":{"exitCode":"7"}},"timeNano":1}
{"Action":"start","Actor":{"Attributes":{}},"timeNano":3}
)"),
              ElementsAre(7, 134));
  EXPECT_THAT(parse_ends(R"({"ContainerExitCode":0,"Status":"died","timeNano":1}
{"Status":"cleanup","timeNano":2}
no JSON
{"ContainerExitCode":137,"Status":"died","timeNano":3})"),
              ElementsAre(0, 137));
}

TEST(Containers, lines_that_repeat_a_command_are_not_shown) {
  EXPECT_EQ(error_line("Error: no such image\npodman run -e ERROR_TOKEN=hushhush x\n"),
            "Error: no such image");
  EXPECT_EQ(error_line("['podman', '-e', 'ERROR=hushhush']\n"), "");
}

TEST(Containers, an_engine_that_hangs_is_an_error_with_a_next_command) {
  const Containers containers({"/", {"PATH=/usr/bin:/bin"}, nullptr});
  const auto said = containers.call({"sleep", "600"}, 50);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, Errc::busy);
  EXPECT_THAT(said.error().next, Not(IsEmpty()));
}

TEST(Containers, an_engine_that_does_not_answer_is_named_with_its_reason) {
  const auto folder = *TemporaryFolder::make();
  const std::string script = folder.path() + "/docker";
  ASSERT_TRUE(
      write_file_atomic(script, "#!/bin/sh\necho Cannot connect to the daemon >&2\nexit 1\n"));
  ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
  const Containers containers({"/", {"PATH=" + folder.path()}, nullptr});
  const std::string before = std::getenv("PATH");
  ASSERT_EQ(::setenv("PATH", folder.path().c_str(), 1), 0);  // posix_spawnp(3) looks there.
  const auto tools = containers.find_tools();
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_FALSE(tools);
  EXPECT_THAT(tools.error().message, HasSubstr("Cannot connect to the daemon"));
  EXPECT_THAT(tools.error().message, HasSubstr("podman: not installed"));
}

TEST(ComposeFiles, an_override_beside_a_file_of_composes_own_name_belongs_to_it) {
  const auto folder = *TemporaryFolder::make();
  const std::string beside = folder.path() + "/compose.override.yaml";
  ASSERT_TRUE(write_file_atomic(beside, "services: {}\n"));
  const std::string own = folder.path() + "/compose.yaml", other = folder.path() + "/gpu.yaml";
  EXPECT_THAT(files_beside(own), ElementsAre(own, beside));
  EXPECT_THAT(files_beside(other), ElementsAre(other));
}

}  // namespace
}  // namespace headroom::machine
