// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokens/sentencepiece/testing/piece_bytes.h"

namespace headroom::tokens {
namespace {

using testing::bytes_field;
using ::testing::HasSubstr;
using testing::number_field;

Status read_all(std::string_view message, std::vector<WireField>& fields) {
  WireReader reader(message);
  for (WireField field;;) {
    HEADROOM_TRY(const bool more, reader.next(field));
    if (!more) return Done{};
    fields.push_back(field);
  }
}

TEST(Wire, fields_come_with_their_numbers_and_values) {
  const std::string message = number_field(1, 300) + bytes_field(2, "abc") +
                              number_field(16, ~0ULL) + "\x1d\x01\x02\x03\x04" +
                              "\x21\x01\x02\x03\x04\x05\x06\x07\x08";
  std::vector<WireField> fields;
  ASSERT_TRUE(read_all(message, fields));
  ASSERT_EQ(fields.size(), 5U);
  EXPECT_EQ(fields[0].number, 1U);
  EXPECT_EQ(fields[0].value, 300U);
  EXPECT_EQ(fields[1].bytes, "abc");
  EXPECT_EQ(fields[2].number, 16U);
  EXPECT_EQ(fields[2].value, ~0ULL);
  EXPECT_EQ(fields[3].value, 0x04030201U);
  EXPECT_EQ(fields[4].value, 0x0807060504030201U);
}

TEST(Wire, every_cut_of_a_message_ends_between_fields_or_is_told) {
  const std::string message = number_field(1, 300) + bytes_field(2, "abc") + "\x1d\x01\x02\x03\x04";
  for (std::size_t size = 0; size < message.size(); ++size) {
    std::vector<WireField> fields;
    const auto status = read_all(std::string_view(message).substr(0, size), fields);
    const bool is_border = size == 0 || size == 3 || size == 8;
    EXPECT_EQ(status.has_value(), is_border) << size;
    EXPECT_THAT(status ? "expected" : status.error().message, HasSubstr("expected")) << size;
  }
}

TEST(Wire, a_length_beyond_the_end_costs_nothing) {
  for (const std::uint64_t length : {4ULL, 1ULL << 31U, ~0ULL}) {
    std::vector<WireField> fields;
    const auto status = read_all("\x0a" + testing::varint(length) + "abc", fields);
    ASSERT_FALSE(status) << length;
    EXPECT_THAT(status.error().message, HasSubstr("as the length before them says"));
  }
}

TEST(Wire, what_is_no_field_is_refused) {
  // The number 0, a group, a type that there is not, a number of eleven bytes.
  for (const std::string& message :
       {std::string("\x00", 1), std::string("\x0b"), std::string("\x0f"),
        "\x08" + std::string(10, '\xff') + "\x01"}) {
    std::vector<WireField> fields;
    EXPECT_FALSE(read_all(message, fields));
  }
}

}  // namespace
}  // namespace headroom::tokens
