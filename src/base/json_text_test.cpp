// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom {
namespace {

TEST(JsonText, bytes_that_are_no_text_are_replaced_and_nothing_is_thrown) {
  EXPECT_EQ(to_json_text(Json("a\xff\xed\xa0\x80"
                              "b")),
            "\"a\uFFFD\uFFFD\uFFFD\uFFFDb\"");
  EXPECT_EQ(to_json_text(Json{{"größe", 1}}, 2), "{\n  \"größe\": 1\n}");
}

}  // namespace
}  // namespace headroom
