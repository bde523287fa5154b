// SPDX-License-Identifier: Apache-2.0
#include "serve/site.h"

#include <fmt/format.h>

namespace headroom::serve {
namespace {

// The page holds its own style and script, and needs nothing else from anywhere.
constexpr const char* policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors "
    "'none'";

Response refuse(Verdict verdict) {
  if (verdict == Verdict::wrong_host) {
    return {403, "text/plain; charset=utf-8",
            "Expected localhost or 127.0.0.1 in the address; for other names: --token-file.\n"};
  }
  return {401,
          "text/plain; charset=utf-8",
          "Expected the token: as the header \"Authorization: Bearer TOKEN\", or at the end of the "
          "address, /?token=TOKEN\n",
          {{"WWW-Authenticate", "Bearer"}}};
}

Response health(const Pages& pages, bool stale) {
  Response response;
  response.status = pages.healthy && !stale ? 200 : 503;
  response.body =
      (stale ? "stale: the last look at the machine is too long ago" : pages.health) + "\n";
  return response;
}

}  // namespace

void Site::show(Pages pages) {
  auto shown = std::make_shared<const Pages>(std::move(pages));
  const MutexLock hold(mutex_);
  pages_.swap(shown);
}

Response Site::answer(const Request& request, std::chrono::nanoseconds now) const {
  const Verdict verdict = may_read(request, token_);
  if (verdict != Verdict::allowed) return refuse(verdict);
  if (token_ && brings_token(request, *token_) && request.path == "/") {
    const std::string cookie =
        fmt::format("headroom={}; HttpOnly; SameSite=Strict; Path=/", *token_);
    return {303, "text/plain; charset=utf-8", "", {{"Location", "/"}, {"Set-Cookie", cookie}}};
  }
  std::shared_ptr<const Pages> pages;
  {
    const MutexLock hold(mutex_);
    pages = pages_;
  }
  if (!pages) return {503, "text/plain; charset=utf-8", "starting: no look at the machine yet\n"};
  if (request.path == "/metrics") {
    return {200, "text/plain; version=0.0.4; charset=utf-8", pages->metrics};
  }
  if (request.path == "/live.json") return {200, "application/json", pages->live_json};
  if (request.path == "/healthz") return health(*pages, now - pages->made > stale_);
  if (request.path == "/events") {
    return {200, "text/event-stream", to_event(pages->live_json), {}, true};
  }
  if (request.path == "/") {
    return {200, "text/html; charset=utf-8", pages->page, {{"Content-Security-Policy", policy}}};
  }
  return {404, "text/plain; charset=utf-8",
          "Expected /, /metrics, /live.json, /events or /healthz.\n"};
}

std::string to_event(std::string_view json) {
  return fmt::format("data: {}\n\n", json);
}

}  // namespace headroom::serve
