// SPDX-License-Identifier: Apache-2.0
#include "serve/access.h"

#include <gtest/gtest.h>

namespace headroom::serve {
namespace {

const std::string token = "0123456789abcdef";

Request from(std::string host) {
  Request request;
  request.host = std::move(host);
  return request;
}

TEST(Address, is_a_host_and_a_port) {
  const auto full = parse_address("0.0.0.0:80");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->host, "0.0.0.0");
  EXPECT_FALSE(full->is_loopback());
  EXPECT_EQ(parse_address("9873")->host, "127.0.0.1");
  EXPECT_EQ(parse_address("[::1]:9873")->host, "::1");
  EXPECT_TRUE(parse_address("[::1]:9873")->is_loopback());
  EXPECT_TRUE(parse_address("127.8.0.1:0")->is_loopback());
}

TEST(Address, of_a_name_that_begins_like_loopback_is_not) {
  EXPECT_FALSE(parse_address("127.evil.example:80")->is_loopback());
}

TEST(Address, anything_else_is_a_mistake) {
  for (const char* text : {"", ":", "host", "host:", ":80", "::1:80", "h:65536", "h:-1", "h:80x"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(Token, is_long_and_plain) {
  EXPECT_EQ(parse_token("  " + token + "\n").value_or(""), token);
  EXPECT_FALSE(parse_token("short"));
  EXPECT_FALSE(parse_token("0123456789abcde;"));
  EXPECT_FALSE(parse_token("0123456789 abcdef"));
}

TEST(MayRead, without_a_token_only_by_this_machines_names) {
  for (const char* host : {"", "localhost:9873", "127.0.0.1:9873", "[::1]:9873", "a.localhost"}) {
    EXPECT_EQ(may_read(from(host), {}), Verdict::allowed) << host;
  }
  for (const char* host :
       {"evil.example:9873", "127.0.0.1.evil.example", "[::2]", "[", "192.168.1.4"}) {
    EXPECT_EQ(may_read(from(host), {}), Verdict::wrong_host) << host;
  }
}

TEST(MayRead, with_a_token_by_header_cookie_or_query) {
  EXPECT_EQ(may_read(from("localhost"), token), Verdict::needs_token);
  Request request;
  request.authorization = "bearer  " + token;
  EXPECT_EQ(may_read(request, token), Verdict::allowed);
  request.authorization = "Bearer " + token + "x";
  EXPECT_EQ(may_read(request, token), Verdict::needs_token);
  request.cookie = "other=1; headroom=" + token;
  EXPECT_EQ(may_read(request, token), Verdict::allowed);
  request.cookie = "xheadroom=" + token;
  EXPECT_EQ(may_read(request, token), Verdict::needs_token);
  request.query = "a=b&token=" + token;
  EXPECT_EQ(may_read(request, token), Verdict::allowed);
  request.query = "token=%30123456789abcde%66";
  EXPECT_EQ(may_read(request, token), Verdict::allowed);
  request.query = "token=0123456789abcdef%";
  EXPECT_EQ(may_read(request, token), Verdict::needs_token);
  request.query = "token=";
  EXPECT_EQ(may_read(request, token), Verdict::needs_token);
}

}  // namespace
}  // namespace headroom::serve
