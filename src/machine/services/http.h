// SPDX-License-Identifier: Apache-2.0
// Requests to a service over HTTP, by libcurl. A proxy of the environment is not used for this
// machine's own addresses; redirections are followed five times at most, and to http and https
// alone; each request has a connection of its own, as from another client.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "machine/services/libcurl.h"
#include "machine/services/load.h"

namespace headroom::machine {

struct HttpRequest {
  std::string url;
  std::string method = "GET";
  std::map<std::string, std::string> headers;
  std::optional<std::string> body;
  bool follow_redirects = true;
};

// Fails with invalid where libcurl does not take the request.
Result<std::unique_ptr<Load>> start_requests(const Libcurl& curl, const HttpRequest& request,
                                             const LoadShape& shape);

// Whether something takes connections at the host and port of the URL, tried for so long.
bool takes_connections(const std::string& url, std::uint64_t timeout_ms);

// The URL as messages may show it: without user, password and query.
std::string shown_url(const std::string& url);

}  // namespace headroom::machine
