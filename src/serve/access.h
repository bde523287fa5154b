// SPDX-License-Identifier: Apache-2.0
// Who may read our pages: whoever has the token, or, without one, whoever is on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/http.h"

namespace headroom::serve {

struct Address {
  std::string host;  // A number or a name, IPv6 without brackets.
  std::uint16_t port = 0;

  // Only programs of this machine reach it: 127.0.0.0/8, ::1, localhost.
  bool is_loopback() const;
};

// "127.0.0.1:9873", "9873" (on 127.0.0.1), "[::1]:9873", "0.0.0.0:9873". Fails with invalid.
Result<Address> parse_address(std::string_view text);

// The one line of a token's file: at least 16 characters, of those that a header, a cookie and an
// address can carry as they are (RFC 6750, b64token).
Result<std::string> parse_token(std::string_view text);

enum class Verdict : std::uint8_t {
  allowed,
  needs_token,
  // Another site's name in the header Host: a page that made its name lead here (DNS rebinding).
  wrong_host,
};

// Without a token a browser's own rules keep other sites' pages out, as long as Host names this
// machine. With one it may come as "Authorization: Bearer", as a cookie, or in the query.
Verdict may_read(const Request& request, const std::optional<std::string>& token);

// Whether the token stands in the query: then the answer is a cookie and a redirection, so that it
// does not stay in the browser's address line and history.
bool brings_token(const Request& request, const std::string& token);

}  // namespace headroom::serve
