// SPDX-License-Identifier: Apache-2.0
#include "machine/services/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace headroom::machine {
namespace {

// One request under way.
struct Transfer {
  void* easy = nullptr;
  std::string body;
  bool is_cut = false;
  std::array<char, Libcurl::error_buffer_size> error{};
};

// libcurl's write function: what is too long is read and forgotten.
std::size_t take_piece(const char* data, std::size_t size, std::size_t count, void* transfer) {
  auto& to = *static_cast<Transfer*>(transfer);
  const std::size_t bytes = size * count;
  const std::size_t room = longest_body - to.body.size();
  to.is_cut = to.is_cut || bytes > room;
  to.body.append(data, std::min(bytes, room));
  return bytes;
}

// "localhost", "127.0.0.1", "[::1]": no proxy can reach what these mean here.
bool is_this_machine(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return false;
  std::string host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (const auto at = host.rfind('@'); at != std::string::npos) host = host.substr(at + 1);
  if (host.starts_with("[::1]")) return true;
  host = host.substr(0, host.find(':'));
  return host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.");
}

class Requests : public Load {
 public:
  Requests(const Libcurl& curl, HttpRequest request, const LoadShape& shape)
      : curl_(curl), request_(std::move(request)), shape_(shape), multi_(curl.multi_init()) {
    for (const auto& [name, value] : request_.headers)
      headers_ = curl_.slist_append(headers_, fmt::format("{}: {}", name, value).c_str());
    // curl would ask "Expect: 100-continue" first, which small servers never answer.
    headers_ = curl_.slist_append(headers_, "Expect:");
  }
  ~Requests() override {
    for (const auto& transfer : running_) end(*transfer);
    if (multi_ != nullptr) curl_.multi_cleanup(multi_);
    curl_.slist_free_all(headers_);
  }

  Status fill() {
    while (begun_ < shape_.repeat && running_.size() < shape_.concurrency) {
      HEADROOM_CHECK(begin());
      ++begun_;
    }
    return Done{};
  }

  Result<std::vector<LoadAnswer>> wait(std::uint64_t wait_ms) override {
    HEADROOM_CHECK(fill());
    int running = 0;
    if (const int code = curl_.multi_perform(multi_, &running); code != 0) return trouble(code);
    std::vector<LoadAnswer> answers = take_answers();
    if (!answers.empty() || is_over()) return answers;
    curl_.multi_poll(multi_, nullptr, 0, static_cast<int>(std::min<std::uint64_t>(wait_ms, 60000)),
                     nullptr);
    if (const int code = curl_.multi_perform(multi_, &running); code != 0) return trouble(code);
    return take_answers();
  }
  bool is_over() const override { return begun_ == shape_.repeat && running_.empty(); }

 private:
  static Error trouble(int code) {
    return {Errc::io, fmt::format("libcurl cannot go on (multi error {})", code), ""};
  }

  void set_request(Transfer& transfer) {
    const auto set = [this, &transfer](Libcurl::Option option, auto value) {
      curl_.easy_setopt(transfer.easy, option, value);
    };
    set(Libcurl::url, request_.url.c_str());
    set(Libcurl::user_agent, "headroom");
    set(Libcurl::protocols, Libcurl::http_and_https);
    set(Libcurl::redirect_protocols, Libcurl::http_and_https);
    set(Libcurl::follow_location, request_.follow_redirects ? 1L : 0L);
    set(Libcurl::max_redirects, 5L);
    set(Libcurl::no_signal, 1L);
    set(Libcurl::fresh_connect, 1L);
    set(Libcurl::forbid_reuse, 1L);
    set(Libcurl::timeout_ms, static_cast<long>(shape_.timeout_ms));
    if (is_this_machine(request_.url)) set(Libcurl::proxy, "");
    set(Libcurl::http_header, headers_);
    if (request_.body) {
      set(Libcurl::post_field_size, static_cast<long>(request_.body->size()));
      set(Libcurl::post_fields, request_.body->data());
    }
    if (request_.method == "HEAD") set(Libcurl::no_body, 1L);
    set(Libcurl::custom_request, request_.method.c_str());
    set(Libcurl::error_buffer, transfer.error.data());
    set(Libcurl::write_function, &take_piece);
    set(Libcurl::write_data, static_cast<void*>(&transfer));
    set(Libcurl::private_pointer, static_cast<void*>(&transfer));
  }

  Status begin() {
    auto transfer = std::make_unique<Transfer>();
    transfer->easy = curl_.easy_init();
    if (transfer->easy == nullptr) return Error{Errc::out_of_memory, "libcurl has no memory", ""};
    set_request(*transfer);
    const int code = curl_.multi_add_handle(multi_, transfer->easy);
    running_.push_back(std::move(transfer));
    return code == 0 ? Status(Done{}) : trouble(code);
  }

  void end(Transfer& transfer) {
    curl_.multi_remove_handle(multi_, transfer.easy);
    curl_.easy_cleanup(transfer.easy);
  }

  LoadAnswer answer_of(Transfer& transfer, int code) {
    LoadAnswer answer;
    std::int64_t microseconds = 0;
    curl_.easy_getinfo(transfer.easy, Libcurl::info_total_time, &microseconds);
    answer.ms = static_cast<double>(microseconds) / 1000;
    long status = 0;
    curl_.easy_getinfo(transfer.easy, Libcurl::info_response_code, &status);
    answer.status = static_cast<int>(status);
    answer.body = std::move(transfer.body);
    if (code == Libcurl::ok) {
      if (transfer.is_cut) answer.detail = "only its first 16 MiB were kept";
      return answer;
    }
    answer.end =
        code == Libcurl::timed_out ? LoadAnswer::End::timed_out : LoadAnswer::End::transport;
    const std::string said = transfer.error.data();
    answer.detail = said.empty() ? curl_.easy_strerror(code) : said;
    return answer;
  }

  std::vector<LoadAnswer> take_answers() {
    std::vector<LoadAnswer> answers;
    int left = 0;
    while (const Libcurl::Message* message = curl_.multi_info_read(multi_, &left)) {
      if (message->kind != Libcurl::message_done) continue;
      void* easy = message->easy;  // The message goes with the next call.
      const int code = message->data.code;
      const auto found = std::find_if(running_.begin(), running_.end(),
                                      [easy](const auto& one) { return one->easy == easy; });
      if (found == running_.end()) continue;
      answers.push_back(answer_of(**found, code));
      end(**found);
      running_.erase(found);
    }
    return answers;
  }

  const Libcurl& curl_;
  HttpRequest request_;
  LoadShape shape_;
  void* multi_;
  void* headers_ = nullptr;
  std::uint64_t begun_ = 0;
  std::vector<std::unique_ptr<Transfer>> running_;
};

}  // namespace

Result<std::unique_ptr<Load>> start_requests(const Libcurl& curl, const HttpRequest& request,
                                             const LoadShape& shape) {
  auto load = std::make_unique<Requests>(curl, request, shape);
  HEADROOM_CHECK(load->fill());
  return std::unique_ptr<Load>(std::move(load));
}

std::string shown_url(const std::string& url) {
  std::string shown = url.substr(0, url.find_first_of("?#"));
  const std::size_t scheme = shown.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t at = shown.substr(0, shown.find('/', host)).rfind('@');
  if (at != std::string::npos && at >= host) shown.erase(host, at + 1 - host);
  return shown;
}

}  // namespace headroom::machine
