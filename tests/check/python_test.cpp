// SPDX-License-Identifier: Apache-2.0
// Which Python is found: by what --python names, by PATH, through links, shims and virtual
// environments; and that a machine without torch costs little.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "probe/read_python.h"
#include "support/scratch.h"

namespace headroom::probe {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* rocm_build = "__version__ = '2.4.1+rocm6.0'\ncuda = None\nhip = '6.0.1'\n";

class Python : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text = "") const {
    fs::create_directories((scratch_.path() / path).parent_path());
    std::ofstream(scratch_.path() / path, std::ios::binary) << text;
  }
  void link(const std::string& path, const std::string& target) const {
    fs::create_directories((scratch_.path() / path).parent_path());
    fs::create_symlink(target, scratch_.path() / path);
  }
  void write_venv(const std::string& root, bool system = false) const {
    write(root + "/pyvenv.cfg",
          std::string("home = /usr/bin\nversion = 3.12.3\n") +
              "include-system-site-packages = " + (system ? "true\n" : "false\n"));
    link(root + "/bin/python3", "/usr/bin/python3");
  }
  void write_system() const {
    write("usr/bin/python3.12");
    link("usr/bin/python3", "python3.12");
    write("usr/lib/python3/dist-packages/torch/version.py", "__version__ = '1.0'\n");
  }
  facts::PythonStack read(const PythonRequest& request) const {
    return read_python(*machine::Files::open(scratch_.string()), request);
  }

  testing::Scratch scratch_;
};

TEST_F(Python, the_first_on_path_counts) {
  write_system();
  write_venv("people/a/venv");
  const auto stack = read({"", "/nowhere:relative:/people/a/venv/bin:/usr/bin", "", ""});
  EXPECT_EQ(*stack.interpreter, "/people/a/venv/bin/python3");
  EXPECT_EQ(*stack.version, "3.12.3");
  EXPECT_EQ(*stack.prefix, "/people/a/venv");
  EXPECT_FALSE(stack.named);
}

TEST_F(Python, a_virtual_environment_hides_the_systems_packages_unless_it_asks_for_them) {
  write_system();
  write_venv("closed");
  write_venv("open", true);
  EXPECT_EQ(read({"/closed", "", "", ""}).torch_folder, "");
  EXPECT_EQ(read({"/open", "", "", ""}).torch_folder, "/usr/lib/python3/dist-packages/torch");
}

TEST_F(Python, the_systems_version_is_told_by_its_link) {
  write_system();
  const auto stack = read({"", "/usr/bin", "", ""});
  EXPECT_EQ(*stack.version, "3.12");
  EXPECT_EQ(*stack.torch.version, "1.0");
}

TEST_F(Python, a_users_own_packages_come_before_the_systems) {
  write_system();
  write("people/a/.local/lib/python3.12/site-packages/torch/version.py", rocm_build);
  EXPECT_EQ(*read({"", "/usr/bin", "/people/a", ""}).torch.version, "2.4.1+rocm6.0");
}

TEST_F(Python, an_interpreter_an_environment_and_a_folder_of_packages_may_be_named) {
  write_system();
  write_venv("v");
  write("v/lib/python3.12/site-packages/torch/version.py", rocm_build);
  for (const char* name : {"/v", "/v/", "/v/bin/python3", "/v/lib/python3.12/site-packages"}) {
    const auto stack = read({name, "/usr/bin", "", ""});
    EXPECT_EQ(stack.torch_folder, "/v/lib/python3.12/site-packages/torch") << name;
    EXPECT_TRUE(stack.named);
  }
}

TEST_F(Python, a_name_that_leads_nowhere_finds_nothing_else) {
  write_system();
  write("empty/readme");
  for (const char* name : {"/none", "/empty", "/"}) {
    const auto stack = read({name, "/usr/bin", "", ""});
    EXPECT_FALSE(stack.interpreter) << name;
    EXPECT_THAT(stack.folders, IsEmpty()) << name;
  }
}

TEST_F(Python, a_shim_of_pyenv_leads_to_the_chosen_version) {
  write_system();
  write("people/a/.pyenv/shims/python3", "#!/bin/sh\n");
  write("people/a/.pyenv/version", "3.11.7\n");
  write("people/a/.pyenv/versions/3.11.7/bin/python3.11");
  link("people/a/.pyenv/versions/3.11.7/bin/python3", "python3.11");
  const std::string path = "/people/a/.pyenv/shims:/usr/bin";
  EXPECT_EQ(*read({"", path, "", ""}).interpreter, "/people/a/.pyenv/versions/3.11.7/bin/python3");
  write("people/a/.pyenv/version", "system\n");
  EXPECT_EQ(*read({"", path, "", ""}).interpreter, "/usr/bin/python3");
}

TEST_F(Python, targets_are_the_wheels_own_and_not_its_tuning_databases) {
  write_venv("v");
  const std::string site = "v/lib/python3.12/site-packages";
  write(site + "/torch/version.py", rocm_build);
  write(site + "/torch/lib/libamdhip64.so");
  write(site + "/torch/lib/rocblas/library/TensileLibrary_lazy_gfx1100.dat");
  write(site + "/torch/share/miopen/db/gfx900_56.db.txt");
  write("opt/rocm/lib/rocblas/library/TensileLibrary_lazy_gfx906.dat");
  EXPECT_THAT(*read({"/v", "", "", ""}).torch.targets, ElementsAre("gfx1100"));
}

TEST_F(Python, a_torch_without_libraries_uses_the_systems) {
  write_venv("v");
  write("v/lib/python3.12/site-packages/torch/version.py", rocm_build);
  write("v/lib/python3.12/site-packages/torch/lib/libtorch_hip.so");
  write("opt/rocm/lib/rocblas/library/TensileLibrary_lazy_gfx906.dat");
  const auto stack = read({"/v", "", "", ""});
  EXPECT_FALSE(*stack.torch.own_rocm);
  EXPECT_THAT(*stack.torch.targets, ElementsAre("gfx906"));
}

TEST_F(Python, entries_of_library_path_that_lead_to_a_rocm_are_kept_with_its_version) {
  write("opt/rocm-5.7.0/.info/version", "5.7.0-63\n");
  const auto stack = read(
      {"", "/usr/bin", "", "/usr/lib:/opt/rocm-5.7.0/lib/:/v/site-packages/_rocm_sdk_core/lib"});
  ASSERT_EQ(stack.preferred.size(), 1U);
  EXPECT_EQ(*stack.preferred[0].version, "5.7.0-63");
}

}  // namespace
}  // namespace headroom::probe
