// SPDX-License-Identifier: Apache-2.0
#include "serve/site.h"

#include <gtest/gtest.h>

namespace headroom::serve {
namespace {

using std::chrono::seconds;

const std::string token = "0123456789abcdef";

Request to(std::string path) {
  Request request;
  request.path = std::move(path);
  request.host = "localhost";
  return request;
}

Pages pages(bool healthy) {
  Pages made{"m 1\n", "{}", "<html>", healthy, "ok: well"};
  made.made = seconds(100);
  return made;
}

TEST(Site, before_the_first_look_says_so) {
  const Site site({}, seconds(30));
  EXPECT_EQ(site.answer(to("/metrics"), seconds(100)).status, 503);
}

TEST(Site, has_its_pages) {
  Site site({}, seconds(30));
  site.show(pages(true));
  EXPECT_EQ(site.answer(to("/metrics"), seconds(100)).body, "m 1\n");
  EXPECT_EQ(site.answer(to("/live.json"), seconds(100)).type, "application/json");
  EXPECT_EQ(site.answer(to("/"), seconds(100)).body, "<html>");
  EXPECT_EQ(site.answer(to("/other"), seconds(100)).status, 404);
  const Response events = site.answer(to("/events"), seconds(100));
  EXPECT_TRUE(events.stays_open);
  EXPECT_EQ(events.body, "data: {}\n\n");
}

TEST(Site, is_healthy_while_jobs_can_run_and_somebody_looks) {
  Site site({}, seconds(30));
  site.show(pages(true));
  EXPECT_EQ(site.answer(to("/healthz"), seconds(130)).status, 200);
  EXPECT_EQ(site.answer(to("/healthz"), seconds(131)).status, 503);
  site.show(pages(false));
  EXPECT_EQ(site.answer(to("/healthz"), seconds(100)).status, 503);
}

TEST(Site, a_token_in_the_address_becomes_a_cookie) {
  Site site(token, seconds(30));
  site.show(pages(true));
  EXPECT_EQ(site.answer(to("/"), seconds(100)).status, 401);
  Request request = to("/");
  request.query = "token=" + token;
  const Response redirection = site.answer(request, seconds(100));
  EXPECT_EQ(redirection.status, 303);
  EXPECT_TRUE(redirection.body.empty());
  request = to("/");
  request.cookie = "headroom=" + token;
  EXPECT_EQ(site.answer(request, seconds(100)).body, "<html>");
}

TEST(Site, another_sites_name_is_refused) {
  Site site({}, seconds(30));
  site.show(pages(true));
  Request request = to("/metrics");
  request.host = "evil.example";
  EXPECT_EQ(site.answer(request, seconds(100)).status, 403);
}

}  // namespace
}  // namespace headroom::serve
