// SPDX-License-Identifier: Apache-2.0
// Requests to a real server, one thread of the test, by the libcurl of this system.
#include "machine/services/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "machine/clock.h"
#include "machine/descriptor.h"

namespace headroom::machine {
namespace {

using testing::HasSubstr;

// Answers by the path: "/slow" never, "/break" by hanging up, "/away" with a redirection.
class Server {
 public:
  Server() : listens_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listens_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listens_.get(), 64);
    socklen_t size = sizeof address;
    ::getsockname(listens_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(listens_.get(), SHUT_RDWR);
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int requests() const { return requests_; }

 private:
  void serve() {
    std::vector<Descriptor> slow;
    for (;;) {
      Descriptor one(::accept4(listens_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (one.get() < 0) return;
      std::array<char, 4096> asked{};
      const ssize_t count = ::read(one.get(), asked.data(), asked.size() - 1);
      ++requests_;
      const std::string text(asked.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
      if (text.find(" /slow ") != std::string::npos) {
        slow.push_back(std::move(one));
        continue;
      }
      if (text.find(" /break ") != std::string::npos) continue;
      answer(one.get(), text);
    }
  }
  static void answer(int to, const std::string& asked) {
    std::string status = "200 OK", more, body = asked.substr(0, asked.find("\r\n"));
    if (asked.find(" /away ") != std::string::npos) {
      status = "302 Found";
      more = "Location: /here\r\n";
    }
    if (asked.find(" /busy ") != std::string::npos) status = "503 Busy";
    const std::string said = "HTTP/1.1 " + status + "\r\n" + more +
                             "Content-Length: " + std::to_string(body.size()) +
                             "\r\nConnection: close\r\n\r\n" + body;
    EXPECT_EQ(::write(to, said.data(), said.size()), static_cast<ssize_t>(said.size()));
  }

  Descriptor listens_;
  int port_ = 0;
  std::atomic<int> requests_{0};
  std::thread thread_;
};

class Http : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = Libcurl::load();
    if (!loaded) GTEST_SKIP() << loaded.error().message;
    curl_ = *loaded;
  }
  std::vector<LoadAnswer> ask(const HttpRequest& request, const LoadShape& shape) {
    auto load = start_requests(curl_, request, shape);
    std::vector<LoadAnswer> answers;
    while (load && !(*load)->is_over()) {
      auto some = (*load)->wait(100);
      if (!some) break;
      for (LoadAnswer& one : *some) answers.push_back(std::move(one));
    }
    return answers;
  }
  LoadAnswer ask_once(const std::string& url, std::uint64_t timeout_ms = 10000) {
    HttpRequest request;
    request.url = url;
    const auto answers = ask(request, {1, 1, timeout_ms});
    return answers.size() == 1 ? answers[0] : LoadAnswer{};
  }

  Libcurl curl_;
  Server server_;
};

TEST_F(Http, every_request_of_a_load_is_answered_once) {
  HttpRequest request;
  request.url = server_.url("/faces");
  const auto answers = ask(request, {23, 4, 10000});
  ASSERT_EQ(answers.size(), 23U);
  for (const LoadAnswer& one : answers) {
    EXPECT_EQ(one.end, LoadAnswer::End::answered);
    EXPECT_EQ(one.status, 200);
    EXPECT_EQ(one.body, "GET /faces HTTP/1.1");
    EXPECT_GT(one.ms, 0);
  }
  EXPECT_EQ(server_.requests(), 23);
}

TEST_F(Http, a_body_is_sent_by_the_method_that_was_asked_for) {
  HttpRequest request;
  request.url = server_.url("/faces");
  request.method = "PUT";
  request.body = std::string("a\0b", 3);
  const auto answers = ask(request, {1, 1, 10000});
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].body, "PUT /faces HTTP/1.1");
}

TEST_F(Http, no_answer_in_time_is_not_a_broken_connection) {
  EXPECT_EQ(ask_once(server_.url("/slow"), 200).end, LoadAnswer::End::timed_out);
  const LoadAnswer broken = ask_once(server_.url("/break"));
  EXPECT_EQ(broken.end, LoadAnswer::End::transport);
  EXPECT_FALSE(broken.detail.empty());
}

TEST_F(Http, a_port_that_nobody_listens_on_refuses) {
  const LoadAnswer answer = ask_once("http://127.0.0.1:1/");
  EXPECT_EQ(answer.end, LoadAnswer::End::transport);
  EXPECT_FALSE(takes_connections("http://127.0.0.1:1/ping", 500));
  EXPECT_TRUE(takes_connections(server_.url("/ping"), 500));
}

TEST_F(Http, a_status_is_an_answer) {
  const LoadAnswer answer = ask_once(server_.url("/busy"));
  EXPECT_EQ(answer.end, LoadAnswer::End::answered);
  EXPECT_EQ(answer.status, 503);
}

TEST_F(Http, redirections_are_followed_only_where_that_is_wanted) {
  EXPECT_EQ(ask_once(server_.url("/away")).body, "GET /here HTTP/1.1");
  HttpRequest request;
  request.url = server_.url("/away");
  request.follow_redirects = false;
  EXPECT_EQ(ask(request, {1, 1, 10000})[0].status, 302);
}

TEST_F(Http, a_proxy_of_the_environment_is_not_asked_for_this_machine) {
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(ask_once(server_.url("/faces")).status, 200);
  ::unsetenv("http_proxy");  // NOLINT(concurrency-mt-unsafe)
}

TEST_F(Http, nothing_is_waited_for_once_a_load_is_dropped) {
  HttpRequest request;
  request.url = server_.url("/slow");
  const std::uint64_t before = monotonic_ns();
  {
    auto load = start_requests(curl_, request, {4, 4, 60000});
    ASSERT_TRUE(load);
    EXPECT_TRUE((*load)->wait(50)->empty());
  }
  EXPECT_LT(monotonic_ns() - before, std::uint64_t{30} * 1'000'000'000);
}

TEST(ShownUrl, has_no_password_and_no_query) {
  EXPECT_EQ(shown_url("http://me:secret@host:80/a?token=1#x"), "http://host:80/a");
  EXPECT_EQ(shown_url("http://host/a@b"), "http://host/a@b");
}

}  // namespace
}  // namespace headroom::machine
