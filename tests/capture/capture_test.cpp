// SPDX-License-Identifier: Apache-2.0
// A capture answers as the machine does, and tells nobody whose it is: every machine of
// tests/machines through record, redaction, tree and back, and one machine full of secrets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/document.h"
#include "base/text.h"
#include "capture/identity.h"
#include "capture/redact_recording.h"
#include "capture/write_recording.h"
#include "findings/diagnosis.h"
#include "machine/acts_when_read.h"
#include "machine/libarchive.h"
#include "machine/open_root.h"
#include "machine/user_files.h"
#include "probe/probe.h"
#include "redact/settings.h"
#include "report/check_json.h"
#include "support/fake_machine.h"
#include "support/sampling.h"
#include "support/scratch.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

const fs::path machines_folder = fs::path(HEADROOM_SOURCE_DIR) / "tests/machines";

// All of them, or every nth.
std::vector<std::string> machine_names(std::size_t stride = 1) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(machines_folder)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  std::vector<std::string> sample;
  for (std::size_t i = 0; i < names.size(); i += stride) sample.push_back(names[i]);
  return sample;
}

void expand(const std::string& name, const fs::path& folder) {
  const auto text = machine::read_file((machines_folder / (name + ".toml")).string());
  ASSERT_TRUE(text.has_value());
  const auto description = parse_toml(*text);
  ASSERT_TRUE(description.has_value()) << description.error().message;
  fs::create_directories(folder);
  const auto expanded = testing::expand_machine(*description, folder.string());
  ASSERT_TRUE(expanded.has_value()) << expanded.error().message;
}

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

Result<std::string> check(const machine::Files& files) {
  HEADROOM_TRY(facts::Facts facts, probe::probe(files, tables()));
  facts.machine.live = false;
  return report::to_json_text(facts, findings::diagnose({facts, tables()}));
}

Result<std::string> check(const std::string& root) {
  HEADROOM_TRY(const machine::OpenRoot opened, machine::open_root(root));
  return check(opened.files);
}

struct Captured {
  std::string answer;  // Of the machine, redacted as its files are.
  redact::Counts counts{};
};

Result<Captured> capture(const std::string& root, const std::string& output) {
  machine::Recording recording;
  HEADROOM_TRY(const machine::OpenRoot opened, machine::open_root(root, &recording));
  HEADROOM_TRY(const std::string answer, check(opened.files));
  HEADROOM_TRY(const machine::OpenRoot beside, machine::open_root(root));
  redact::Redactor redactor(capture::read_identity(beside.files, recording));
  const machine::Recording clean = capture::redact_recording(recording, redactor);
  HEADROOM_TRY(const auto writer, output.ends_with(".zst") ? machine::make_archive_writer(output)
                                                           : machine::make_folder_writer(output));
  HEADROOM_CHECK(capture::write_recording(clean, redactor.counts(), *writer));
  HEADROOM_CHECK(writer->finish());
  const redact::Counts counts = redactor.counts();
  return Captured{redactor.report(answer), counts};
}

// Every path, target of a link and byte below a folder, in one text.
std::string everything_in(const fs::path& folder) {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    all += entry.path().lexically_relative(folder).string() + "\n";
    if (entry.is_symlink()) {
      all += fs::read_symlink(entry.path()).string() + "\n";
    } else if (entry.is_regular_file()) {
      all += *machine::read_file(entry.path().string()) + "\n";
    }
  }
  return all;
}

// Where two answers part; empty if they do not.
std::string first_difference(const std::string& a, const std::string& b) {
  const auto ours = split_lines(a);
  const auto theirs = split_lines(b);
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const std::string_view left = i < ours.size() ? ours[i] : "(ends)";
    const std::string_view right = i < theirs.size() ? theirs[i] : "(ends)";
    if (left != right)
      return "line " + std::to_string(i + 1) + ": " + std::string(left) + " | " +
             std::string(right);
  }
  return "";
}

// Names of people, hosts and UUIDs are stand-ins in the capture, and so in what is said of it.
bool tells_names(const redact::Counts& counts) {
  const auto of = [&](redact::Kind kind) { return counts[static_cast<std::size_t>(kind)]; };
  return of(redact::Kind::user_name) + of(redact::Kind::host_name) + of(redact::Kind::uuid) > 0;
}

class Captures : public ::testing::TestWithParam<std::string> {};

TEST_P(Captures, check_says_the_same_of_it_byte_for_byte) {
  const testing::Scratch scratch;
  const std::string root = scratch.string() + "/machine";
  ASSERT_NO_FATAL_FAILURE(expand(GetParam(), root));
  const std::string once = scratch.string() + "/once";
  const auto captured = capture(root, once);
  ASSERT_TRUE(captured.has_value()) << captured.error().message;
  const std::string answer = tells_names(captured->counts) ? captured->answer : *check(root);
  EXPECT_EQ(first_difference(*check(once), answer), "");
  // And of a capture of the capture, which is the same tree.
  const std::string twice = scratch.string() + "/twice";
  ASSERT_TRUE(capture(once, twice).has_value());
  EXPECT_EQ(first_difference(*check(twice), answer), "");
  fs::remove(once + "/MANIFEST.json");  // It counts what was taken out: the second time nothing.
  fs::remove(twice + "/MANIFEST.json");
  EXPECT_EQ(everything_in(once), everything_in(twice));
}

class Archives : public ::testing::TestWithParam<std::string> {};

TEST_P(Archives, say_the_same) {
  if (!machine::Libarchive::load()) GTEST_SKIP() << "libarchive is not installed";
  const testing::Scratch scratch;
  const std::string root = scratch.string() + "/machine";
  ASSERT_NO_FATAL_FAILURE(expand(GetParam(), root));
  const std::string archive = scratch.string() + "/machine.tar.zst";
  const auto captured = capture(root, archive);
  ASSERT_TRUE(captured.has_value()) << captured.error().message;
  EXPECT_EQ(first_difference(*check(archive), captured->answer), "");
}

// A variable that the audit knows and a capture drops would change what check says of it.
TEST(Capture, every_variable_that_the_audit_knows_is_kept) {
  const auto& knobs = tables().knobs;
  for (const knowledge::Knob& knob : knobs.rows()) {
    if (knob.is_parameter()) continue;
    std::string name = knob.name.substr(0, knob.name.find(':'));
    if (name.ends_with('*')) name.back() = '0';  // A variable for each node.
    EXPECT_TRUE(redact::is_kept_variable(name)) << name;
  }
}

std::string to_test_name(const ::testing::TestParamInfo<std::string>& machine) {
  std::string name = machine.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(, Captures, ::testing::ValuesIn(machine_names(testing::stride(3))),
                         to_test_name);
INSTANTIATE_TEST_SUITE_P(, Archives, ::testing::ValuesIn(machine_names(testing::stride(5))),
                         to_test_name);

class Secrets : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = scratch_.string() + "/machine";
    ASSERT_NO_FATAL_FAILURE(expand("two-cards-full-host", root_));
  }
  void write(const std::string& path, const std::string& bytes) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path, std::ios::binary) << bytes;
  }
  // A process that has a GPU open, so that it is looked into.
  std::string gpu_process() const {
    for (const auto& entry : fs::directory_iterator(root_ + "/proc")) {
      if (fs::exists(entry.path() / "fd") && !fs::is_empty(entry.path() / "fd")) {
        return "proc/" + entry.path().filename().string();
      }
    }
    return "";
  }

  testing::Scratch scratch_;
  std::string root_;
};

TEST_F(Secrets, none_is_in_any_byte_name_or_link_of_the_capture) {
  const std::string home = "/home";
  const std::string zero(1, '\0');
  const std::string process = gpu_process();
  ASSERT_NE(process, "");
  write("proc/sys/kernel/hostname", "tortoise-lab7\n");
  write("etc/hostname", "tortoise-lab7.physics.example.edu\n");
  write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nwilhelmina:x:1000:1000:Wilhelmina Quist,,,:" +
                          home + "/wilhelmina:/bin/zsh\n");
  write("etc/group", "render:x:109:wilhelmina,directoryuser\n");
  write("proc/cmdline",
        "BOOT_IMAGE=/tortoise-lab7/vmlinuz root=UUID=6b2c1a52-7a0e-4d0a-9b57-0d1c2b3a4f5e ro "
        "ip=10.77.66.55::10.77.66.1 BOOTIF=01-52-54-00-ab-cd-ef rd.luks.key=/mnt/hidden-key "
        "cloud.token=tok3n-on-boot wifi.psk=\"open sesame\" amdgpu.gttsize=2048\n");
  write("etc/modprobe.d/amdgpu.conf",
        "# wilhelmina: the pager is 555-0199\noptions amdgpu gttsize=2048\n"
        "options cfg80211 psk=modprobe-secret\n");
  write("etc/environment", "API_TOKEN=env-file-secret\nHSA_ENABLE_SDMA=0\n");
  write("etc/profile.d/lab.sh",
        "export WANDB_API_KEY=profile-secret\nexport HSA_OVERRIDE_GFX_VERSION=11.0.0\n");
  write(process + "/comm", "a-name-of-fifte\n");
  write(process + "/cmdline",
        "/opt/lab/python3" + zero + "train.py" + zero + "--hf-token=argument-secret" + zero);
  write(process + "/environ", "HF_TOKEN=environ-secret" + zero + "USER=wilhelmina" + zero +
                                  "VLLM_API_KEY=vllm-secret" + zero);
  fs::create_symlink(home + "/wilhelmina/private/diary.txt", root_ + "/" + process + "/fd/77");
  write("proc/1/environ", "container=lxc" + zero + "ROOT_PASSWORD=init-secret" + zero);

  const std::string output = scratch_.string() + "/capture";
  const auto captured = capture(root_, output);
  ASSERT_TRUE(captured.has_value()) << captured.error().message;
  const std::string told = everything_in(output);
  for (const char* secret : {"tortoise", "physics.example", "wilhelmina",      "Wilhelmina",
                             "Quist",    "directoryuser",   "6b2c1a52",        "10.77.66",
                             "52-54-00", "hidden-key",      "tok3n",           "sesame",
                             "555-0199", "modprobe-secret", "env-file-secret", "profile-secret",
                             "train.py", "argument-secret", "environ-secret",  "vllm-secret",
                             "diary",    "private",         "init-secret"}) {
    EXPECT_EQ(told.find(secret), std::string::npos) << secret << " is told";
  }
  EXPECT_THAT(told, ::testing::HasSubstr("amdgpu.gttsize=2048"));
  EXPECT_EQ(first_difference(*check(output), captured->answer), "");
}

TEST_F(Secrets, ids_are_replaced_and_what_was_equal_stays_equal) {
  std::string devices;
  for (const auto& entry : fs::recursive_directory_iterator(root_ + "/sys/devices")) {
    if (entry.path().filename() == "properties" && entry.is_regular_file() &&
        entry.path().string().find("/nodes/") != std::string::npos &&
        entry.path().string().find("mem_banks") == std::string::npos) {
      std::ofstream(entry.path(), std::ios::app) << "unique_id 6515346734905643298\n";
      devices += entry.path().lexically_relative(root_).string() + "\n";
    }
  }
  const std::string output = scratch_.string() + "/capture";
  ASSERT_TRUE(capture(root_, output).has_value());
  const std::string told = everything_in(output);
  EXPECT_EQ(told.find("6515346734905643298"), std::string::npos);
  for (const std::string_view path : split_lines(devices)) {
    EXPECT_THAT(*machine::read_file(output + "/" + std::string(path)),
                ::testing::HasSubstr("unique_id 9137803643934736385\n"))
        << path;
  }
}

// The machine's debugfs is open to us, and everything in it that acts is there to be read.
TEST_F(Secrets, no_file_that_acts_is_opened_by_check) {
  for (const std::string_view name : machine::files_that_act) {
    for (const std::string folder : {"sys/kernel/debug/dri/0", "sys/kernel/debug/dri/1",
                                     "sys/kernel/debug/kfd", "sys/kernel/debug/ttm"}) {
      write(folder + "/" + std::string(name), "1\n");
    }
  }
  write("sys/kernel/debug/kfd/mem_limit", "System mem used 0M out of 1M\n");
  machine::Recording recording;
  const auto opened = machine::open_root(root_, &recording);
  ASSERT_TRUE(check(opened->files).has_value());
  for (const auto& [path, bytes] : recording.files) {
    EXPECT_FALSE(machine::acts_when_read(path)) << path;
  }
  for (const auto& [path, reason] : recording.refused) {
    EXPECT_FALSE(machine::acts_when_read(path)) << path << " was asked for";
  }
}

}  // namespace
}  // namespace headroom
