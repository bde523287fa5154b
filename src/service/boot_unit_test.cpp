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
using testing::Not;

TEST(BootUnit, names_what_it_finishes_and_where_its_records_are) {
  const std::string text = boot_unit_text({"photos", "/srv/50% photos/SERVICE.toml",
                                           "/usr/bin/headroom", "/var/lib/someone/headroom", ""});
  EXPECT_THAT(text, HasSubstr("ExecStart=\"/usr/bin/headroom\" deploy --finish "
                              "\"/srv/50%% photos/SERVICE.toml\"\n"));
  EXPECT_THAT(text, HasSubstr("Environment=\"XDG_STATE_HOME=/var/lib/someone\"\n"));
  EXPECT_THAT(text, HasSubstr("KillMode=process\n")) << "what it starts has to stay";
}

TEST(BootUnit, of_a_users_service_starts_with_the_users_manager) {
  const std::string text =
      boot_unit_text({"photos", "/srv/ann/SERVICE.toml", "/usr/bin/headroom",
                      "/srv/ann/.local/state/headroom", "/srv/ann/.config/systemd/user"});
  EXPECT_THAT(text, HasSubstr("WantedBy=default.target\n"));
  EXPECT_THAT(text, HasSubstr("After=default.target\n"));
  EXPECT_THAT(text, Not(HasSubstr("multi-user.target"))) << "a user's manager has none";
}

TEST(BootUnit, the_users_units_are_where_the_variables_say) {
  EXPECT_EQ(find_user_units({"PATH=/bin", "HOME=/srv/ann"}), "/srv/ann/.config/systemd/user");
  EXPECT_EQ(find_user_units({"XDG_CONFIG_HOME=/c", "HOME=/srv/ann"}), "/c/systemd/user");
  EXPECT_EQ(find_user_units({"XDG_CONFIG_HOME=c", "HOME=/srv/ann"}),
            "/srv/ann/.config/systemd/user")
      << "a relative one is none (XDG Base Directory Specification)";
  EXPECT_EQ(find_user_units({"PATH=/bin"}), "");
}

TEST(BootUnit, systemd_takes_it) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread.
  if (std::system("command -v systemd-analyze >/dev/null") != 0) GTEST_SKIP() << "no systemd here";
  const auto folder = machine::TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/headroom-deploy-photos.service";
  ASSERT_TRUE(
      machine::write_file_atomic(path, boot_unit_text({"photos", "/srv/photos/SERVICE.toml",
                                                       "/bin/true", "/var/lib/headroom", ""})));
  const std::string command = "systemd-analyze --man=no verify " + path;
  EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace
}  // namespace headroom::service
