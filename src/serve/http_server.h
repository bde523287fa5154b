// SPDX-License-Identifier: Apache-2.0
// An HTTP server for a few readers, over libevent: one thread answers, and whoever is slow, silent
// or too long waits or goes without keeping the others. Requests are GET and HEAD, with at most
// 16 KiB of headers and no body worth the name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "serve/access.h"
#include "serve/http.h"

namespace headroom::serve {

class HttpServer {
 public:
  // Called in the thread of run().
  using Handler = std::function<Response(const Request&)>;

  // Listens. Fails with busy where somebody has the port, with no_permission, or with not_found
  // where the address is none of this machine's.
  static Result<std::unique_ptr<HttpServer>> listen(const Address& address, Handler handler);
  virtual ~HttpServer() = default;

  // "127.0.0.1:9873", with the port that was given where 0 was asked for.
  virtual std::string address() const = 0;
  // Answers until SIGTERM or SIGINT comes. Requires: called once.
  virtual void run() = 0;
  // From any thread: to every connection that stays open. One that has not taken 1 MiB of what went
  // before is closed.
  virtual void publish(std::string text) = 0;
};

}  // namespace headroom::serve
