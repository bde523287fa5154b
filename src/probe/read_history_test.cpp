// SPDX-License-Identifier: Apache-2.0
#include "probe/read_history.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace headroom::probe {
namespace {

namespace fs = std::filesystem;

class ReadHistory : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "headroom-history-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const fs::path place = root_ / path;
    fs::create_directories(place.parent_path());
    std::ofstream(place, std::ios::binary) << text;
  }
  facts::MachineHistory read(const facts::PythonStack& python = {}) {
    const auto table = knowledge::load_package_table();
    return read_history(*machine::Files::open(root_.string()), *table, python,
                        "2026-05-10T12:00:00");
  }
  // Each change as "time package from to", and behind them what could not be read.
  std::string shown(const facts::PythonStack& python = {}) {
    std::string text;
    const facts::MachineHistory history = read(python);
    for (const facts::PackageChange& one : history.changes) {
      text += one.time + " " + one.package + " [" + one.from + "] [" + one.to + "]\n";
    }
    for (const facts::HistorySource& one : history.sources) {
      if (!one.read()) text += one.path + ": " + one.why_not + "\n";
    }
    return text;
  }
  fs::path root_;
};

TEST_F(ReadHistory, only_packages_that_matter_are_kept_oldest_first) {
  write("var/log/apt/history.log",
        "Start-Date: 2026-05-03  10:00:00\nRequested-By: alice (1000)\n"
        "Upgrade: rocm-core:amd64 (6.3.2, 6.4.0), keepassxc:amd64 (1, 2)\n");
  write("var/log/apt/history.log.1",
        "Start-Date: 2026-05-01  10:00:00\nUpgrade: linux-firmware:amd64 (1, 2)\n");
  write("var/log/dpkg.log", "2026-05-03 10:00:01 upgrade rocm-core:amd64 6.3.2 6.4.0\n");
  EXPECT_EQ(shown(),
            "2026-05-01T10:00:00 linux-firmware [1] [2]\n"
            "2026-05-03T10:00:00 rocm-core [6.3.2] [6.4.0]\n");
}

TEST_F(ReadHistory, a_log_says_since_when_it_tells_by_all_its_packages) {
  write("var/log/pacman.log",
        "[1970-01-01T00:00:01+0000] [ALPM] upgraded bash (0-1 -> 1-1)\n"
        "[2026-04-01T10:00:01+0200] [ALPM] upgraded bash (1-1 -> 2-1)\n"
        "[2026-05-01T10:00:01+0200] [ALPM] upgraded linux (6.14-1 -> 6.15-1)\n");
  const auto history = read();
  ASSERT_EQ(history.sources.size(), 1U);
  EXPECT_EQ(history.sources[0].since, "2026-04-01T10:00:01");
}

TEST_F(ReadHistory, dpkg_tells_where_apt_kept_nothing) {
  write("var/log/dpkg.log", "2026-05-03 10:00:01 upgrade rocm-core:amd64 6.3.2 6.4.0\n");
  EXPECT_EQ(shown(), "2026-05-03T10:00:01 rocm-core [6.3.2] [6.4.0]\n");
}

TEST_F(ReadHistory, other_package_managers_are_read) {
  write("var/log/pacman.log",
        "[2026-05-01T10:00:01+0200] [ALPM] upgraded linux (6.14-1 -> 6.15-1)\n");
  write("var/log/dnf.rpm.log",
        "2026-05-02T10:00:01+0200 SUBDEBUG Upgrade: rocblas-6.4-1.fc42.x86_64\n");
  write("var/log/zypp/history", "2026-05-03 10:00:00|install|kernel-default|6.14-1|x86_64||r|c|\n");
  EXPECT_EQ(shown(),
            "2026-05-01T10:00:01 linux [6.14-1] [6.15-1]\n"
            "2026-05-02T10:00:01 rocblas [] [6.4-1.fc42]\n"
            "2026-05-03T10:00:00 kernel-default [] [6.14-1]\n");
}

TEST_F(ReadHistory, a_module_was_built_when_its_log_says) {
  const std::string folder = "var/lib/dkms/amdgpu/6.12.12/6.14.0-37-generic/x86_64";
  write(folder + "/log/make.log",
        "DKMS make.log for amdgpu/6.12.12 for kernel 6.14.0-37-generic (x86_64)\n"
        "Sat May  2 09:04:47 PM CEST 2026\nmake -C\n");
  write("var/lib/dkms/virtualbox/7/6.14.0-37-generic/x86_64/log/make.log", "a\nSat May  2 2026\n");
  EXPECT_EQ(shown(), "2026-05-02T21:04:47 amdgpu [] [6.12.12 for 6.14.0-37-generic]\n");
}

TEST_F(ReadHistory, what_headroom_changed_is_named_while_it_is_in_force) {
  const std::string folder = "var/lib/headroom/changes/20260502T100000Z";
  write(folder + "-ttm-cap/record.json", R"({"id": "x", "state": "confirmed"})");
  write(folder + ".2-device-permission/record.json", R"({"id": "x", "state": "undone"})");
  write(folder + ".3-half/record.json", R"({"id": )");
  write("var/lib/headroom/changes/lost+found/x", "");
  EXPECT_EQ(shown(), "2026-05-02T10:00:00 ttm-cap [] [20260502T100000Z-ttm-cap]\n");
}

TEST_F(ReadHistory, an_image_was_pulled_when_it_got_its_tag) {
  const std::string store = "var/lib/docker/image/overlay2/";
  write(store + "repositories.json",
        R"({"Repositories": {"rocm/vllm": {"rocm/vllm:latest": "sha256:2",
            "rocm/vllm@sha256:b": "sha256:2", "rocm/vllm@sha256:a": "sha256:1"},
            "registry.example.org/secret": {"registry.example.org/secret:1": "sha256:3"}}})");
  write(store + "imagedb/metadata/sha256/1/lastUpdated", "2026-04-02T10:00:00.123+02:00");
  write(store + "imagedb/metadata/sha256/2/lastUpdated", "2026-05-02T10:00:00.123+02:00");
  write(store + "imagedb/metadata/sha256/3/lastUpdated", "2026-05-02T10:00:00.123+02:00");
  EXPECT_EQ(shown(),
            "2026-05-02T10:00:00 rocm/vllm:latest [rocm/vllm@sha256:a] [rocm/vllm@sha256:b]\n");
}

TEST_F(ReadHistory, podmans_images_are_read_in_the_systems_store_and_in_users_homes) {
  const auto store = [&](const std::string& folder, const std::string& id, const std::string& day) {
    write(folder + "/overlay-images/images.json",
          R"([{"id": "old", "names-history": ["docker.io/rocm/vllm:latest"], "layer": "first"},
              {"id": ")" +
              id + R"(", "names": ["docker.io/rocm/vllm:latest", "quay.io/mine/secret:1"],
               "layer": "top"}])");
    write(folder + "/overlay-layers/layers.json",
          R"([{"id": "first", "created": "2026-04-01T09:00:00Z"}, {"id": "top", "created": ")" +
              day + R"(T09:00:00Z"}])");
  };
  store("var/lib/containers/storage", "aaa", "2026-05-01");
  store("home/alice/.local/share/containers/storage", "bbb", "2026-05-03");
  EXPECT_EQ(shown(),
            "2026-05-01T00:00:00 docker.io/rocm/vllm:latest [old] [aaa]\n"
            "2026-05-03T00:00:00 docker.io/rocm/vllm:latest [old] [bbb]\n");
}

TEST_F(ReadHistory, a_store_of_podmans_that_makes_no_sense_is_named) {
  write("var/lib/containers/storage/overlay-images/images.json", "[]");
  write("root/.local/share/containers/storage/overlay-images/images.json", "\xff{");
  write("root/.local/share/containers/storage/overlay-layers/layers.json", "[]");
  const auto history = read();
  ASSERT_EQ(history.sources.size(), 2U);
  EXPECT_EQ(history.sources[0].path, "/var/lib/containers/storage/overlay-layers/layers.json");
  EXPECT_FALSE(history.sources[0].read());
  EXPECT_FALSE(history.sources[1].read());
}

TEST_F(ReadHistory, what_cannot_be_told_is_said_with_its_reason) {
  write("usr/lib/sysimage/libdnf5/transaction_history.sqlite", "SQLite format 3");
  fs::create_directories(root_ / "nix/var/nix/profiles");
  fs::create_symlink("/nix/store/a-nixos-system-box-25.05",
                     root_ / "nix/var/nix/profiles/system-1-link");
  write("ostree/deploy/fedora/deploy/0123.0.origin", "");
  facts::PythonStack python;
  python.packages = {{"torch", "2.9", "/venv/lib/torch-2.9.dist-info"}, {"requests", "1", "/r"}};
  const auto history = read(python);
  EXPECT_TRUE(history.changes.empty());
  ASSERT_EQ(history.sources.size(), 4U);
  EXPECT_NE(history.sources[0].why_not.find("dnf 5"), std::string::npos);
  for (const facts::HistorySource& one : history.sources) EXPECT_FALSE(one.read()) << one.path;
  EXPECT_TRUE(history.now.empty());
}

TEST_F(ReadHistory, a_machine_without_histories_has_none) {
  write("etc/os-release", "ID=debian\n");
  EXPECT_TRUE(read().sources.empty());
}

TEST_F(ReadHistory, what_is_no_log_is_passed_over) {
  fs::create_directories(root_ / "var/log/apt");
  ASSERT_EQ(::mkfifo((root_ / "var/log/apt/history.log").c_str(), 0600), 0);
  fs::create_symlink("pacman.log", root_ / "var/log/pacman.log");
  write("var/log/dnf.rpm.log", std::string(100'000, '\0') + "\n\xff\xfe|||\n");
  fs::create_directories(root_ / "var/log/zypp/history");
  fs::create_directories(root_ / "var/lib/dkms/amdgpu/1");
  fs::create_symlink("loop", root_ / "var/lib/dkms/amdgpu/1/loop");
  const auto history = read();
  EXPECT_TRUE(history.changes.empty());
  for (const facts::HistorySource& one : history.sources) {
    const bool is_fine =
        one.manager == facts::PackageManager::dnf || one.manager == facts::PackageManager::dkms;
    EXPECT_EQ(one.read(), is_fine) << one.path << one.why_not;
  }
}

TEST_F(ReadHistory, a_log_without_permission_says_so) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  write("var/log/pacman.log", "x");
  fs::permissions(root_ / "var/log/pacman.log", fs::perms::none);
  EXPECT_EQ(shown(), "/var/log/pacman.log: no permission\n");
}

TEST_F(ReadHistory, of_a_huge_log_the_end_counts) {
  write("var/log/pacman.log", "[2020-05-01T10:00:01+0200] [ALPM] upgraded linux (1 -> 2)\n");
  fs::resize_file(root_ / "var/log/pacman.log", std::uintmax_t{1} << 40U);
  std::ofstream(root_ / "var/log/pacman.log", std::ios::app)
      << "\n[2026-05-01T10:00:01+0200] [ALPM] upgraded linux (3 -> 4)\n";
  EXPECT_EQ(shown(), "2026-05-01T10:00:01 linux [3] [4]\n");
}

}  // namespace
}  // namespace headroom::probe
