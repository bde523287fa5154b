// SPDX-License-Identifier: Apache-2.0
#include "base/encoding.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace headroom {
namespace {

TEST(Encoding, base64_of_rfc_4648) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
}

TEST(Encoding, base64_has_one_spelling_only) {
  for (const char* wrong : {"Zg", "Zg=", "Zg===", "Zh==", "Z", "Zm9v\n", "Zm 9v", "====", "Zm-v"}) {
    EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
  }
}

TEST(Encoding, any_bytes_come_back_from_base64) {
  const bool held = rc::check(
      [](const std::string& bytes) { RC_ASSERT(from_base64(to_base64(bytes)) == bytes); });
  EXPECT_TRUE(held);
}

TEST(Encoding, utf8_of_every_length_is_accepted) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
  EXPECT_TRUE(
      is_utf8("\xc2\x80 \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"));
}

TEST(Encoding, what_is_no_utf8_is_refused) {
  for (const char* wrong :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc2", "\xe2\x82", "a\xe2\x82z"}) {
    EXPECT_FALSE(is_utf8(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace headroom
