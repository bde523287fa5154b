// SPDX-License-Identifier: Apache-2.0
// Which files settings are looked for in, on a folder that mirrors a machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "probe/read_libraries.h"
#include "probe/read_setting_files.h"
#include "support/scratch.h"

namespace headroom::probe {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class SettingFiles : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text = "A=1\n") {
    const fs::path file = scratch_.path() / path.substr(1);
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void link(const std::string& path, const std::string& target) {
    const fs::path file = scratch_.path() / path.substr(1);
    fs::create_directories(file.parent_path());
    fs::create_symlink(target, file);
  }
  std::vector<std::string> paths() const {
    const auto files = machine::Files::open(scratch_.string());
    std::vector<std::string> found;
    for (const auto& file : read_setting_files(*files, "/var/home/alice"))
      found.push_back(file.path);
    return found;
  }
  machine::Files files() const { return *machine::Files::open(scratch_.string()); }

  headroom::testing::Scratch scratch_;
};

TEST_F(SettingFiles, every_kind_is_read) {
  const std::vector<std::string> expected = {
      "/etc/environment",
      "/etc/profile.d/rocm.sh",
      "/etc/environment.d/10-gpu.conf",
      "/etc/systemd/system/a.service",
      "/etc/systemd/system/b.service.d/gpu.conf",
      "/usr/lib/systemd/system/c.service",
      "/etc/containers/systemd/d.container",
      "/var/home/alice/.bashrc",
      "/var/home/alice/.config/fish/config.fish",
      "/var/home/alice/.config/environment.d/gpu.conf",
      "/var/home/alice/.config/systemd/user/e.service",
      "/var/home/alice/.config/containers/systemd/f.container.d/gpu.conf",
      "/var/home/alice/ui/compose.yaml",
      "/var/home/alice/ui/.env",
      "/srv/llm/stack/docker-compose.yml",
      "/srv/llm/stack/Dockerfile"};
  for (const std::string& path : expected) write(path);
  for (const char* path :
       {"/var/home/bob/.bashrc", "/var/home/alice/notes/.env",
        "/var/home/alice/a/b/c/d/compose.yaml", "/var/home/alice/.cache/compose.yaml",
        "/etc/profile.d/rocm.csh", "/var/home/alice/ui/node_modules/x/compose.yaml"}) {
    write(path);
  }
  EXPECT_THAT(paths(), ::testing::UnorderedElementsAreArray(expected));
}

TEST_F(SettingFiles, a_file_is_read_once_by_its_real_name) {
  write("/var/home/alice/dotfiles/bashrc");
  link("/var/home/alice/.bashrc", "dotfiles/bashrc");
  link("/var/home/alice/.bash_profile", "/var/home/alice/dotfiles/bashrc");
  write("/usr/lib/systemd/system/a.service");
  link("/etc/systemd/system/alias.service", "/usr/lib/systemd/system/a.service");
  EXPECT_THAT(paths(), UnorderedElementsAre("/var/home/alice/dotfiles/bashrc",
                                            "/usr/lib/systemd/system/a.service"));
}

TEST_F(SettingFiles, files_that_units_name_are_followed) {
  write("/etc/systemd/system/a.service",
        "[Service]\nEnvironmentFile=-/etc/default/llm\nEnvironmentFile=/etc/%i.env\n");
  write("/var/home/alice/.config/containers/systemd/b.container",
        "[Container]\nEnvironmentFile=b.env\n");
  write("/etc/default/llm");
  write("/var/home/alice/.config/containers/systemd/b.env");
  EXPECT_THAT(paths(), Contains("/etc/default/llm"));
  EXPECT_THAT(paths(), Contains("/var/home/alice/.config/containers/systemd/b.env"));
}

TEST_F(SettingFiles, what_is_no_text_or_far_too_long_is_left_out) {
  write("/etc/environment", std::string("A=1\0B=2", 7));
  write("/var/home/alice/.bashrc", std::string(300000, 'x'));
  fs::create_directories(scratch_.path() / "var/home/alice/.profile");
  link("/var/home/alice/.zshrc", ".zshrc");
  EXPECT_THAT(paths(), IsEmpty());
}

TEST_F(SettingFiles, projects_that_docker_knows_are_read_wherever_they_are) {
  const std::string folder = "/var/lib/docker/containers/";
  write(folder + "a/config.v2.json",
        R"({"Config":{"Labels":{"com.docker.compose.project.config_files":)"
        R"("/data/llm/compose.yml,/data/llm/x.json"}}})");
  write(folder + "b/config.v2.json", "{\"Config\": {\"Labels\": null}}");
  write(folder + "c/config.v2.json", "{");
  write("/data/llm/compose.yml");
  write("/data/llm/.env");
  write("/data/llm/x.json");
  EXPECT_THAT(paths(), UnorderedElementsAre("/data/llm/compose.yml", "/data/llm/.env"));
}

TEST_F(SettingFiles, folders_that_are_links_are_not_searched) {
  write("/srv/a/compose.yaml");
  link("/srv/b", "a");
  link("/srv/a/loop", "..");
  EXPECT_THAT(paths(), UnorderedElementsAre("/srv/a/compose.yaml"));
}

TEST_F(SettingFiles, libdrm_is_found_where_the_distribution_has_it) {
  EXPECT_FALSE(read_libraries(files()).libdrm_amdgpu.known());
  write("/usr/lib64/libdrm_amdgpu.so.1");
  write("/usr/share/libdrm/amdgpu.ids");
  auto libraries = read_libraries(files());
  ASSERT_TRUE(libraries.libdrm_amdgpu.known());
  EXPECT_EQ(libraries.libdrm_amdgpu->path, "/usr/lib64");
  EXPECT_FALSE(libraries.libdrm_amdgpu->unversioned);
  EXPECT_TRUE(libraries.ids.known());
  EXPECT_FALSE(libraries.ids_in_opt);
  link("/usr/local/lib64/libdrm_amdgpu.so", "/usr/lib64/libdrm_amdgpu.so.1");
  write("/opt/amdgpu/share/libdrm/amdgpu.ids");
  libraries = read_libraries(files());
  EXPECT_TRUE(libraries.libdrm_amdgpu->unversioned);
  EXPECT_TRUE(libraries.ids_in_opt);
}

}  // namespace
}  // namespace headroom::probe
