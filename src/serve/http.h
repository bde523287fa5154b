// SPDX-License-Identifier: Apache-2.0
// A request for one of our pages and what is answered, as values.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headroom::serve {

// Everything in it is what somebody sent: it may be anything, of at most 16 KiB in all.
struct Request {
  std::string path;   // "/metrics"; without the query.
  std::string query;  // "token=…"; may be empty.
  std::string host;   // The header; empty where there is none.
  std::string authorization;
  std::string cookie;
};

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  // The connection stays open and gets what is published from now on (server-sent events, WHATWG
  // HTML 9.2); the body goes first.
  bool stays_open = false;
};

}  // namespace headroom::serve
