// SPDX-License-Identifier: Apache-2.0
// Event files as bytes, and what of them a disk that fills leaves. That TensorBoard's own reader
// takes them is a test in Python (tests/trainer/seeing_test.py), with a reader of its own.
#include "trainer/event_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "trainer/event_file.h"
#include "trainer/testing/scratch_folder.h"

namespace headroom::trainer {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;

TEST(EventRecords, the_checksum_is_that_of_rfc_3720) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(EventRecords, a_record_is_its_length_and_its_bytes_each_with_a_checksum) {
  const std::string record = to_record("abc");
  ASSERT_EQ(record.size(), 8U + 4 + 3 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x03\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 3), "abc");
}

TEST(EventRecords, the_first_record_is_that_of_tensorflow) {
  // As tf.summary's writer begins a file at second 1.0: wall_time, file_version.
  const std::string message =
      version_record(1.0).substr(12, 9 + 2 + std::string("brain.Event:2").size());
  EXPECT_EQ(message, std::string("\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0d", 11) + "brain.Event:2");
}

TEST(EventRecords, a_scalar_is_a_tag_and_a_float) {
  const std::string record = scalar_record(1.0, 300, {{"a/b", 0.5}});
  EXPECT_THAT(record, HasSubstr(std::string("\x10\xac\x02\x2a\x0c\x0a\x0a\x0a\x03"
                                            "a/b\x15\0\0\0\x3f",
                                            17)));
}

TEST(EventFile, every_process_has_a_file_whose_name_comes_after_the_others) {
  const ScratchFolder folder;
  const std::string events = folder.file("tensorboard");
  folder.write("tensorboard/events.out.tfevents.9000000000.elsewhere", "from the future");
  std::string before = "events.out.tfevents.9000000000.elsewhere";
  for (int i = 0; i < 3; ++i) {
    auto file = EventFile::create(events, 7);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->add(StepMetrics{.step = 8, .loss = 1}));
  }
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(events)) {
    EXPECT_GE(entry.path().filename().string(), before);
    ++count;
  }
  EXPECT_EQ(count, 4U);
}

TEST(EventFile, a_folder_that_cannot_be_made_is_an_error) {
  const ScratchFolder folder;
  folder.write("tensorboard", "a file");
  EXPECT_FALSE(EventFile::create(folder.file("tensorboard"), 0));
}

}  // namespace
}  // namespace headroom::trainer
