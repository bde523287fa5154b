// SPDX-License-Identifier: Apache-2.0
// The unit that finishes a roll-back at boot, as systemd itself reads it.
#include "service/boot_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "machine/temporary_folder.h"
#include "machine/user_files.h"

namespace headroom::service {
namespace {

using testing::HasSubstr;

TEST(BootUnit, names_what_it_finishes_and_where_its_records_are) {
  const std::string text = boot_unit_text(
      {"photos", "/srv/50% photos/SERVICE.toml", "/usr/bin/headroom", "/var/lib/someone/headroom"});
  EXPECT_THAT(text, HasSubstr("ExecStart=\"/usr/bin/headroom\" deploy --finish "
                              "\"/srv/50%% photos/SERVICE.toml\"\n"));
  EXPECT_THAT(text, HasSubstr("Environment=\"XDG_STATE_HOME=/var/lib/someone\"\n"));
  EXPECT_THAT(text, HasSubstr("KillMode=process\n")) << "what it starts has to stay";
}

TEST(BootUnit, systemd_takes_it) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread.
  if (std::system("command -v systemd-analyze >/dev/null") != 0) GTEST_SKIP() << "no systemd here";
  const auto folder = machine::TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/headroom-deploy-photos.service";
  ASSERT_TRUE(machine::write_file_atomic(path, boot_unit_text({"photos", "/srv/photos/SERVICE.toml",
                                                               "/bin/true", "/var/lib/headroom"})));
  const std::string command = "systemd-analyze --man=no verify " + path;
  EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace
}  // namespace headroom::service
