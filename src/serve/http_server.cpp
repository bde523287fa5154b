// SPDX-License-Identifier: Apache-2.0
#include "serve/http_server.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "machine/descriptor.h"

namespace headroom::serve {
namespace {

constexpr ev_ssize_t most_of_headers = 16384;
constexpr ev_ssize_t most_of_body = 4096;
constexpr std::size_t most_unsent = std::size_t{1} << 20U;
constexpr std::size_t most_open = 64;  // Connections that stay open.
constexpr timeval rest{1, 0};          // Where nothing more can be accepted.
constexpr int patience_s = 30;         // For a request to come, and an answer to be taken.
constexpr int keep_open_s = 24 * 3600;

template <auto release>
struct Release {
  template <class Handle>
  void operator()(Handle* handle) const {
    release(handle);
  }
};
using Base = std::unique_ptr<event_base, Release<event_base_free>>;
using Http = std::unique_ptr<evhttp, Release<evhttp_free>>;
using Event = std::unique_ptr<event, Release<event_free>>;
using Buffer = std::unique_ptr<evbuffer, Release<evbuffer_free>>;

std::string header(evhttp_request* request, const char* name) {
  const char* value = evhttp_find_header(evhttp_request_get_input_headers(request), name);
  return value == nullptr ? "" : value;
}

Request to_request(evhttp_request* from) {
  Request request;
  const evhttp_uri* uri = evhttp_request_get_evhttp_uri(from);
  const char* path = uri == nullptr ? nullptr : evhttp_uri_get_path(uri);
  const char* query = uri == nullptr ? nullptr : evhttp_uri_get_query(uri);
  request.path = path == nullptr || *path == '\0' ? "/" : path;
  request.query = query == nullptr ? "" : query;
  request.host = header(from, "Host");
  request.authorization = header(from, "Authorization");
  request.cookie = header(from, "Cookie");
  return request;
}

Buffer to_buffer(std::string_view text) {
  Buffer buffer(evbuffer_new());
  if (buffer) evbuffer_add(buffer.get(), text.data(), text.size());
  return buffer;
}

Error cannot_listen(const Address& address, int number) {
  const std::string where = fmt::format("{}:{}", address.host, address.port);
  switch (number) {
    case EADDRINUSE:
      return {Errc::busy, fmt::format("expected {} to be free, found another program there", where),
              "another port: --listen 9874"};
    case EACCES:
      return {Errc::no_permission,
              fmt::format("listening on {} needs root: ports below 1024 do", where),
              "another port: --listen 9873"};
    default:
      return {Errc::not_found,
              fmt::format("expected an address of this machine, found {}: {}", where,
                          std::strerror(number)),  // NOLINT(concurrency-mt-unsafe): one thread yet.
              "this machine alone: --listen 9873"};
  }
}

std::string name_of(int socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return "?";
  if (bound.ss_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&bound);
    ::inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), ntohs(six->sin6_port));
  }
  const auto* four = reinterpret_cast<const sockaddr_in*>(&bound);
  ::inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), ntohs(four->sin_port));
}

// A crowd of readers takes descriptors that looks need as well. Systems keep the soft limit low for
// programs that use select(2), which this one does not.
void raise_descriptor_limit() {
  constexpr rlim_t plenty = 65536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, plenty));
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

class Server final : public HttpServer {
 public:
  explicit Server(Handler handler) : handler_(std::move(handler)) {}
  ~Server() override = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Status listen_on(const Address& address) {
    // A reader who goes while it is written to is no reason to end.
    if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) return Error{Errc::io, "signal(2) failed", ""};
    raise_descriptor_limit();
    // What a reader did is none of the reader's of our standard error.
    event_set_log_callback([](int, const char*) {});
    base_.reset(event_base_new());
    if (base_) http_.reset(evhttp_new(base_.get()));
    wake_ = machine::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!http_ || wake_.get() < 0) {
      return Error{Errc::io, "expected descriptors for a server, found none left", ""};
    }
    evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_max_headers_size(http_.get(), most_of_headers);
    evhttp_set_max_body_size(http_.get(), most_of_body);
    evhttp_set_timeout(http_.get(), patience_s);
    evhttp_set_gencb(
        http_.get(),
        [](evhttp_request* request, void* self) { static_cast<Server*>(self)->answer(request); },
        this);
    errno = 0;
    auto* socket = evhttp_bind_socket_with_handle(http_.get(), address.host.c_str(), address.port);
    if (socket == nullptr) return cannot_listen(address, errno == 0 ? EADDRNOTAVAIL : errno);
    address_ = name_of(evhttp_bound_socket_get_fd(socket));
    listener_ = evhttp_bound_socket_get_listener(socket);
    // Where no descriptor is left, libevent would try again at once, and again: the listener rests
    // until the next tick.
    evconnlistener_set_error_cb(
        listener_, [](evconnlistener* listener, void*) { evconnlistener_disable(listener); });
    rested_.reset(event_new(
        base_.get(), -1, EV_PERSIST,
        [](evutil_socket_t, short, void* listener) {
          evconnlistener_enable(static_cast<evconnlistener*>(listener));
        },
        listener_));
    if (rested_) event_add(rested_.get(), &rest);
    woken_ = make_event(wake_.get(), EV_READ | EV_PERSIST, [](evutil_socket_t, short, void* self) {
      static_cast<Server*>(self)->wake();
    });
    const auto end = [](evutil_socket_t, short, void* self) {
      event_base_loopbreak(static_cast<Server*>(self)->base_.get());
    };
    terminated_ = make_event(SIGTERM, EV_SIGNAL | EV_PERSIST, end);
    interrupted_ = make_event(SIGINT, EV_SIGNAL | EV_PERSIST, end);
    return {};
  }

  std::string address() const override { return address_; }
  void run() override { event_base_dispatch(base_.get()); }

  void publish(std::string text) override {
    {
      const MutexLock hold(mutex_);
      unpublished_.push_back(std::move(text));
    }
    ring();
  }

 private:
  Event make_event(evutil_socket_t what, short when, event_callback_fn call) {
    Event made(event_new(base_.get(), what, when, call, this));
    if (made) event_add(made.get(), nullptr);
    return made;
  }

  void ring() const {
    const std::uint64_t one = 1;
    // It is full only if it rings already.
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
  }

  void wake() {
    std::uint64_t rung = 0;
    [[maybe_unused]] const auto got = ::read(wake_.get(), &rung, sizeof rung);
    std::vector<std::string> texts;
    {
      const MutexLock hold(mutex_);
      texts.swap(unpublished_);
    }
    for (const std::string& text : texts) send_to_open(text);
  }

  void answer(evhttp_request* request) {
    Response response = handler_(to_request(request));
    if (response.stays_open && open_.size() >= most_open) {
      response = {503, "text/plain; charset=utf-8", "too many pages are open already\n"};
    }
    auto* headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Content-Type", response.type.c_str());
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
    for (const auto& [name, value] : response.headers) {
      evhttp_add_header(headers, name.c_str(), value.c_str());
    }
    const Buffer body = to_buffer(response.body);
    const bool is_head = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
    if (!response.stays_open || is_head) {
      evhttp_send_reply(request, response.status, nullptr, is_head ? nullptr : body.get());
      return;
    }
    auto* connection = evhttp_request_get_connection(request);
    evhttp_connection_set_timeout(connection, keep_open_s);
    evhttp_connection_set_closecb(
        connection,
        [](evhttp_connection* closed, void* self) { static_cast<Server*>(self)->forget(closed); },
        this);
    open_.emplace(connection, request);
    evhttp_send_reply_start(request, response.status, nullptr);
    evhttp_send_reply_chunk(request, body.get());
  }

  void forget(evhttp_connection* closed) {
    for (auto one = open_.begin(); one != open_.end(); ++one) {
      if (one->first == closed) {
        open_.erase(one);
        return;
      }
    }
  }

  void send_to_open(const std::string& text) {
    const auto now_open = open_;  // Closing one takes it out of the set.
    for (const auto& [connection, request] : now_open) {
      auto* out = bufferevent_get_output(evhttp_connection_get_bufferevent(connection));
      if (evbuffer_get_length(out) > most_unsent) {
        evhttp_connection_free(connection);
        continue;
      }
      const Buffer chunk = to_buffer(text);
      evhttp_send_reply_chunk(request, chunk.get());
    }
  }

  Handler handler_;
  machine::Descriptor wake_;
  Base base_;  // Goes after all that is made from it.
  std::set<std::pair<evhttp_connection*, evhttp_request*>> open_;
  Http http_;
  Event woken_, terminated_, interrupted_;
  evconnlistener* listener_ = nullptr;  // evhttp's.
  Event rested_;
  std::string address_;
  Mutex mutex_;
  std::vector<std::string> unpublished_ HEADROOM_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const Address& address, Handler handler) {
  auto server = std::make_unique<Server>(std::move(handler));
  HEADROOM_CHECK(server->listen_on(address));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace headroom::serve
