// SPDX-License-Identifier: Apache-2.0
#include "serve/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::serve {
namespace {

constexpr const char* address_form = "write it as 127.0.0.1:9873, [::1]:9873 or 9873";
constexpr std::size_t shortest_token = 16;

// In a time that does not tell how much of it was right.
bool is_same(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char differs = 0;
  for (std::size_t at = 0; at < one.size(); ++at) {
    differs = static_cast<unsigned char>(differs | (one[at] ^ other[at]));
  }
  return differs == 0;
}

// The value of "NAME=VALUE" in a list with this separator.
std::optional<std::string_view> find_value(std::string_view list, char separator,
                                           std::string_view name) {
  for (const std::string_view part : split(list, separator)) {
    const std::string_view one = trim(part);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) {
      return one.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// RFC 3986, 2.1: "%2B" is "+".
std::string decode_percent(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto code = text[at] == '%' ? parse_hex(text.substr(at + 1, 2)) : std::nullopt;
    if (code && at + 2 < text.size()) {
      decoded += static_cast<char>(*code);
      at += 2;
    } else {
      decoded += text[at];
    }
  }
  return decoded;
}

// "localhost:9873" → "localhost", "[::1]:9873" → "::1".
std::string_view host_of(std::string_view header) {
  if (header.starts_with('[')) return header.substr(1, header.find(']') - 1);
  return header.substr(0, header.find(':'));
}

bool is_number_of_loopback(std::string_view host) {
  const bool is_number = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "::1" || (is_number && host.starts_with("127."));
}

bool is_this_machine(std::string_view host) {
  return is_number_of_loopback(host) || host == "localhost" || host.ends_with(".localhost");
}

}  // namespace

bool Address::is_loopback() const {
  return is_number_of_loopback(host) || host == "localhost";
}

Result<Address> parse_address(std::string_view text) {
  const auto wrong = [text] {
    return Error{Errc::invalid, fmt::format("expected an address and a port, found \"{}\"", text),
                 address_form};
  };
  const std::size_t colon = text.rfind(':');
  const bool has_host = colon != std::string_view::npos;
  const auto port = parse_u64(has_host ? text.substr(colon + 1) : text);
  if (!port || *port > 65535) return wrong();
  std::string_view host = has_host ? text.substr(0, colon) : "127.0.0.1";
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!bracketed && host.find(':') != std::string_view::npos)) return wrong();
  return Address{std::string(host), static_cast<std::uint16_t>(*port)};
}

Result<std::string> parse_token(std::string_view text) {
  const std::string_view token = trim(text);
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";
  if (token.size() < shortest_token || token.find_first_not_of(letters) != std::string_view::npos) {
    return Error{Errc::invalid,
                 fmt::format("expected a token of 16 or more letters, digits and -._~+/=, found {} "
                             "characters{}",
                             token.size(), token.size() < shortest_token ? "" : ", of others too"),
                 "(umask 077; head -c 24 /dev/urandom | base64 > TOKEN_FILE)"};
  }
  return std::string(token);
}

bool brings_token(const Request& request, const std::string& token) {
  const auto given = find_value(request.query, '&', "token");
  return given && is_same(decode_percent(*given), token);
}

Verdict may_read(const Request& request, const std::optional<std::string>& token) {
  if (!token) {
    const bool here = request.host.empty() || is_this_machine(host_of(request.host));
    return here ? Verdict::allowed : Verdict::wrong_host;
  }
  constexpr std::string_view bearer = "bearer ";
  const std::string_view header = request.authorization;
  const bool by_header = to_lower(header.substr(0, bearer.size())) == bearer &&
                         is_same(trim(header.substr(bearer.size())), *token);
  const auto cookie = find_value(request.cookie, ';', "headroom");
  const bool by_cookie = cookie && is_same(*cookie, *token);
  return by_header || by_cookie || brings_token(request, *token) ? Verdict::allowed
                                                                 : Verdict::needs_token;
}

}  // namespace headroom::serve
