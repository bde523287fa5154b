// SPDX-License-Identifier: Apache-2.0
// Whether a port takes connections.
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "machine/descriptor.h"
#include "machine/services/http.h"

namespace headroom::machine {
namespace {

struct Place {
  std::string host, port;
};

Place place_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  std::string rest = scheme == std::string::npos ? url : url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (const auto at = rest.rfind('@'); at != std::string::npos) rest = rest.substr(at + 1);
  Place place{rest, url.starts_with("https") ? "443" : "80"};
  const std::size_t bracket = rest.find(']');
  const std::size_t colon = rest.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos) place = {rest.substr(0, colon), rest.substr(colon + 1)};
  if (place.host.starts_with('[')) place.host = place.host.substr(1, place.host.find(']') - 1);
  return place;
}

bool connects(const addrinfo& address, std::uint64_t timeout_ms) {
  const Descriptor to(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (to.get() < 0) return false;
  if (::connect(to.get(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd one{to.get(), POLLOUT, 0};
  if (::poll(&one, 1, static_cast<int>(timeout_ms)) <= 0) return false;
  int problem = 0;
  socklen_t size = sizeof problem;
  return ::getsockopt(to.get(), SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem == 0;
}

}  // namespace

bool takes_connections(const std::string& url, std::uint64_t timeout_ms) {
  const Place place = place_of(url);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(place.host.c_str(), place.port.c_str(), &wanted, &found) != 0) return false;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (connects(*one, timeout_ms)) return true;
  }
  return false;
}

}  // namespace headroom::machine
