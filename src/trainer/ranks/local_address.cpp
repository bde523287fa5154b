// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/local_address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/printable.h"
#include "machine/descriptor.h"
#include "machine/os_error.h"

namespace headroom::trainer {
namespace {

Result<std::string> address_of(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, text.data(),
                                   text.size(), nullptr, 0, NI_NUMERICHOST);
  if (failed != 0) return Error{Errc::io, ::gai_strerror(failed), ""};
  return std::string(text.data());
}

// A connected datagram socket has an address, and has sent nothing (connect(2)).
Result<std::string> try_address(const addrinfo& to) {
  const machine::Descriptor socket(::socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || ::connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0)
    return machine::os_error(errno, "reaching it");
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
    return machine::os_error(errno, "asking for the own address");
  return address_of(own, length);
}

}  // namespace

Result<std::string> address_towards(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  std::string why = failed != 0 ? ::gai_strerror(failed) : "no address";
  for (const addrinfo* one = failed != 0 ? nullptr : found; one != nullptr; one = one->ai_next) {
    auto address = try_address(*one);
    if (address) return address;
    why = address.error().message;
  }
  return Error{Errc::invalid,
               fmt::format("MASTER_ADDR={}: expected a machine that this one reaches, found: {}",
                           printable(host), why),
               "set it to the address of the machine of rank 0, the same for all ranks"};
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace headroom::trainer
