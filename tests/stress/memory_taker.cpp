// SPDX-License-Identifier: Apache-2.0
// Takes host memory until it is refused, for tests that run it inside a control group with a limit
// (never outside of one):
//
//   memory_taker one|many|pages vmm|no-vmm
//
// `one` asks the allocator for more than the machine has, `many` for one small block after the
// other, `pages` asks the backend itself for its largest handles. When it is refused it prints one
// line of JSON, and keeps what it has until its standard input ends. Exit code 1: refused as out of
// memory. 2: otherwise. 3: never refused.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "allocator/backends/host.h"
#include "allocator/headroom/headroom_allocator.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t far_too_much = std::uint64_t{64} << 30U;

int tell(const Error& error, const std::string& text, std::uint64_t taken) {
  const nlohmann::json line = {{"taken_bytes", taken},
                               {"message", error.message},
                               {"next", error.next},
                               {"report", text},
                               {"out_of_memory", error.code == Errc::out_of_memory}};
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return error.code == Errc::out_of_memory ? 1 : 2;
}

int take_pages(std::unique_ptr<HostBackend> backend) {
  for (std::uint64_t taken = 0; taken < far_too_much; taken += max_pages_per_handle * page_bytes) {
    const auto pages = backend->create_pages(max_pages_per_handle);
    if (!pages) return tell(pages.error(), "", taken);
  }
  return 3;
}

int take_blocks(std::unique_ptr<HostBackend> backend, std::uint64_t block_bytes) {
  HeadroomAllocator allocator(std::move(backend), far_too_much);
  const Request request{block_bytes, Component::weights, 0};
  for (std::uint64_t taken = 0; taken < far_too_much; taken += block_bytes) {
    const auto address = allocator.allocate(request);
    if (!address) {
      const OutOfMemory problem = allocator.explain(request);
      return tell(to_error(problem), to_text(problem), taken);
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    std::memset(reinterpret_cast<void*>(static_cast<std::uintptr_t>(*address)), 1, block_bytes);
  }
  return 3;
}

int run(std::string_view how, HostBackend::VirtualMemory virtual_memory) {
  auto backend = HostBackend::create(virtual_memory);
  if (!backend) {
    fmt::print(stderr, "memory_taker: {}\n", backend.error().message);
    return 2;
  }
  if (how == "pages") return take_pages(*std::move(backend));
  return take_blocks(*std::move(backend), how == "one" ? far_too_much / 4 : mib);
}

}  // namespace
}  // namespace headroom::allocator

int main(int argc, char** argv) {
  using headroom::allocator::HostBackend;
  const std::string_view how = argc > 1 ? argv[1] : "";
  const std::string_view mode = argc > 2 ? argv[2] : "";
  const bool is_known = how == "one" || how == "many" || how == "pages";
  if (!is_known || (mode != "vmm" && mode != "no-vmm")) {
    fmt::print(stderr, "usage: memory_taker one|many|pages vmm|no-vmm\n");
    return 2;
  }
  return headroom::allocator::run(
      how, mode == "vmm" ? HostBackend::VirtualMemory::on : HostBackend::VirtualMemory::off);
}
