// SPDX-License-Identifier: Apache-2.0
#include "machine/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/document.h"
#include "machine/acts_when_read.h"
#include "machine/files.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Pair;

class RecordingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "headroom-record-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  Files open(Recording* recording = nullptr) { return *Files::open(root_.string(), recording); }

  fs::path root_;
};

TEST_F(RecordingTest, a_file_is_noted_under_its_real_name_and_the_links_to_it_as_links) {
  write("sys/devices/card/vendor", "0x1002\n");
  fs::create_directories(root_ / "sys/class");
  fs::create_directory_symlink("../devices/card", root_ / "sys/class/card1");
  Recording recording;
  EXPECT_TRUE(open(&recording).read("/sys/class/card1/vendor").has_value());
  EXPECT_THAT(recording.files, ElementsAre(Pair("sys/devices/card/vendor", "0x1002\n")));
  EXPECT_THAT(recording.links, ElementsAre(Pair("sys/class/card1", "../devices/card")));
  EXPECT_TRUE(recording.refused.empty());
}

TEST_F(RecordingTest, a_listing_notes_every_name_and_presence_notes_what_it_is) {
  write("dev/kfd", "");
  fs::create_directories(root_ / "dev/dri");
  Recording recording;
  const Files files = open(&recording);
  EXPECT_EQ(files.list("/dev")->size(), 2U);
  EXPECT_TRUE(files.exists("/dev/dri"));
  EXPECT_FALSE(files.exists("/dev/none"));
  EXPECT_EQ(recording.stand_ins.count("dev/kfd"), 1U);
  EXPECT_EQ(recording.folders.count("dev/dri"), 1U);
  EXPECT_EQ(recording.stand_ins.count("dev/none"), 0U);
}

TEST_F(RecordingTest, a_file_that_reads_like_a_link_is_noted_as_a_file) {
  write("proc/7/cmdline", std::string("/usr/bin/python3\0train.py\0", 26));
  Recording recording;
  EXPECT_TRUE(open(&recording).read("/proc/7/cmdline").has_value());
  EXPECT_EQ(recording.files.count("proc/7/cmdline"), 1U);
  EXPECT_TRUE(recording.links.empty());
}

TEST_F(RecordingTest, links_listed_in_one_pass_are_noted_as_links_read_one_by_one) {
  fs::create_directories(root_ / "proc/7/fd");
  fs::create_symlink("/dev/kfd", root_ / "proc/7/fd/3");
  Recording listed;
  EXPECT_EQ(open(&listed).list_links("/proc/7/fd")->size(), 1U);
  Recording read;
  EXPECT_TRUE(open(&read).read_link("/proc/7/fd/3").has_value());
  EXPECT_THAT(listed.links, ElementsAre(Pair("proc/7/fd/3", "/dev/kfd")));
  EXPECT_EQ(listed.links, read.links);
  EXPECT_EQ(listed.folders.count("proc/7/fd"), 1U);
}

TEST_F(RecordingTest, what_is_refused_is_noted_and_what_is_absent_is_not) {
  write("MANIFEST.json", R"({"read_errors": {"sys/secret": "EPERM"}})");
  write("long", std::string(5000, 'x'));
  Recording recording;
  const Files files = open(&recording);
  EXPECT_FALSE(files.read("/sys/secret/child").has_value());
  EXPECT_FALSE(files.read("/sys/none").has_value());
  EXPECT_FALSE(files.read("/long", 4096).has_value());
  EXPECT_THAT(recording.refused, ElementsAre(Pair("long", "longer than 4096 bytes"),
                                             Pair("sys/secret/child", "EPERM")));
}

TEST_F(RecordingTest, a_record_gives_the_same_error_again_word_for_word) {
  write("MANIFEST.json",
        R"({"read_errors": {"a": "EIO", "b": "longer than 4 bytes", "folder": "EACCES"},
            "recorded": {}})");
  write("a", "it is there, and could not be read");
  const Files files = open();
  EXPECT_EQ(files.read("/a").error().message, "reading /a: Input/output error");
  EXPECT_EQ(files.read("/b").error().message, "reading /b: longer than 4 bytes");
  EXPECT_EQ(files.list("/folder").error().code, Errc::no_permission);
  // In a record everything that was refused is named, so what is not named was not there.
  EXPECT_EQ(files.read("/folder/child").error().code, Errc::not_found);
}

TEST_F(RecordingTest, answers_that_no_file_holds_come_back_errors_word_for_word) {
  Recording recording;
  const Files real = *Files::open("/", &recording);
  EXPECT_TRUE(*real.may_use("/dev/null"));
  EXPECT_EQ(real.may_use("/no/such/node").error().code, Errc::not_found);
  EXPECT_THAT(recording.files, ElementsAre(Pair(".headroom/may_use/dev/null", "yes\n")));
  write(".headroom/may_use/dev/null", "yes\n");
  write("MANIFEST.json", to_manifest(recording).dump());
  const Files captured = open();
  EXPECT_TRUE(*captured.may_use("/dev/null"));
  EXPECT_EQ(captured.may_use("/no/such/node").error().message,
            real.may_use("/no/such/node").error().message);
  EXPECT_EQ(captured.may_use("/dev/never-asked").error().code, Errc::not_this_system);
}

TEST_F(RecordingTest, no_file_that_acts_is_opened_on_any_root) {
  for (const std::string_view name : files_that_act) {
    for (const std::string folder : {"sys/kernel/debug/dri/0/", "elsewhere/"}) {
      write(folder + std::string(name), "1\n");
      Recording recording;
      const Files captured = open(&recording);
      const auto read = captured.read("/" + folder + std::string(name));
      ASSERT_FALSE(read.has_value()) << name;
      EXPECT_NE(read.error().message.find("refused"), std::string::npos) << read.error().message;
      EXPECT_TRUE(recording.files.empty()) << name;
      const auto real = Files::open("/")->read("/" + folder + std::string(name));
      EXPECT_EQ(real.error().code, Errc::unsupported) << "looked for before it was refused";
    }
  }
}

TEST(Manifest, every_form_of_read_errors_is_read_and_nonsense_is_nothing) {
  EXPECT_EQ(parse_manifest(R"({"read_errors": ["/sys/a"]})").refused.at("sys/a"), "EPERM");
  EXPECT_EQ(
      parse_manifest(R"({"read_errors": [{"path": "sys/a", "error": "EIO"}]})").refused.at("sys/a"),
      "EIO");
  for (const char* nonsense :
       {"", R"({"read_errors": 3})", R"(["read_errors"])", R"({"read_errors": {"a": )",
        R"({"recorded": 3})", R"({"recorded": {"unanswered": {"may_use": 3}}})"}) {
    const Manifest manifest = parse_manifest(nonsense);
    EXPECT_TRUE(manifest.refused.empty()) << nonsense;
    EXPECT_TRUE(manifest.unanswered.empty()) << nonsense;
  }
}

TEST(Manifest, what_is_written_is_read_again) {
  Recording recording;
  recording.refused = {{"sys/a", "EACCES"}};
  recording.unanswered["may_use/dev/kfd"] = {Errc::no_permission, "asking: no", ""};
  const Manifest manifest = parse_manifest(to_manifest(recording).dump());
  EXPECT_TRUE(manifest.complete);
  EXPECT_EQ(manifest.refused, recording.refused);
  ASSERT_EQ(manifest.unanswered.size(), 1U);
  EXPECT_EQ(manifest.unanswered.at("may_use/dev/kfd").code, Errc::no_permission);
  EXPECT_EQ(manifest.unanswered.at("may_use/dev/kfd").message, "asking: no");
}

}  // namespace
}  // namespace headroom::machine
