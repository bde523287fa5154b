// SPDX-License-Identifier: Apache-2.0
#include "plan/memory_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "facts/ladder.h"
#include "findings/memory_use.h"

namespace headroom::plan {
namespace {

Bytes whole_gib(Bytes size) {
  return {round_down(size.value, (1_GiB).value)};
}

// The largest size that is accepted, in hundredths of a GiB: what is said has to be what can be
// typed, so it is never rounded up.
std::uint64_t most_hundredths(Bytes ram) {
  const std::uint64_t most = saturating_sub(ram, least_left).value;
  const std::uint64_t whole = most / (1_GiB).value;
  return whole * 100 + most % (1_GiB).value * 100 / (1_GiB).value;
}

Error refuse(const SizeRequest& request, std::string message) {
  const std::uint64_t most = most_hundredths(request.ram);
  if (most < 100 * (smallest_limit.value / (1_GiB).value)) {
    return {Errc::unsupported, std::move(message), "headroom check"};
  }
  const std::string said = fmt::format("{}.{:02}", most / 100, most % 100);
  return {Errc::invalid, fmt::format("{}; the largest size here is {} GiB", message, said),
          fmt::format("{} --size {}GiB", request.command,
                      most % 100 == 0 ? std::to_string(most / 100) : said)};
}

// Of "auto" and "max". Below about 8 GiB of RAM the kernel's own half is all that can be given.
Result<Bytes> computed_size(const SizeRequest& request, bool most) {
  const Bytes usual = most ? least_left : findings::reserve_for_system(request.ram);
  const Bytes reserve = request.reserve.value_or(usual);
  const Bytes size = whole_gib(saturating_sub(request.ram, reserve));
  if (request.reserve && size < smallest_limit) {
    return refuse(request, fmt::format("expected a reserve below the {} of RAM, found {}",
                                       to_string(request.ram), to_string(reserve)));
  }
  if (!request.reserve && size.value < request.ram.value / 2) {
    return Error{Errc::unsupported,
                 fmt::format("the kernel gives the GPU half of {} of RAM by default, and {} have "
                             "to stay with the system, so there is nothing more to give",
                             to_string(request.ram), to_string(least_left)),
                 "headroom check"};
  }
  return most ? std::min(size, whole_gib(facts::kfd_system_limit(request.ram))) : size;
}

Result<Bytes> asked_size(const SizeRequest& request) {
  const auto asked = parse_bytes(request.size);
  if (!asked) {
    return Error{
        Errc::invalid,
        fmt::format("--size: expected a size such as 120GiB, or max, or auto, found \"{}\"",
                    request.size),
        request.command + " --size auto"};
  }
  if (*asked >= smallest_limit) return Bytes{round_down(asked->value, page_bytes)};
  // Guides give this limit in pages of 4 KiB.
  const auto pages = parse_u64(request.size);
  const Bytes meant = {pages && *pages <= request.ram.value / page_bytes ? *pages * page_bytes : 0};
  if (meant >= smallest_limit) {
    if (saturating_sub(request.ram, meant) < least_left) {
      return refuse(
          request,
          fmt::format(
              "--size: expected bytes, found {}, which would be {} of the {} of RAM in pages",
              request.size, to_string(meant), to_string(request.ram)));
    }
    return Error{Errc::invalid,
                 fmt::format("--size: expected bytes, found {}, which would be {} in pages",
                             request.size, to_string(meant)),
                 fmt::format("{} --size {}MiB", request.command, meant.value / (1_MiB).value)};
  }
  return Error{
      Errc::invalid,
      fmt::format(
          "--size: expected at least {}, because the desktop uses the same memory, found {}",
          to_string(smallest_limit), to_string(*asked)),
      request.command + " --size auto"};
}

void warn(const SizeRequest& request, bool computed, SizeChoice& choice) {
  if (choice.left < comfortable_left) {
    choice.warnings.push_back(
        fmt::format("The system has {} of RAM left while jobs use all of this. Less than {} is "
                    "tight for a desktop. If RAM runs out, the kernel kills processes.",
                    to_string(choice.left), to_string(comfortable_left)));
  }
  if (request.reserve && !computed && choice.left < *request.reserve) {
    choice.notes.push_back(fmt::format("--size overrides --reserve: {} are left, not {}.",
                                       to_string(choice.left), to_string(*request.reserve)));
  }
}

}  // namespace

Result<SizeChoice> choose_size(const SizeRequest& request) {
  const std::string word = to_lower(request.size);
  const bool computed = word.empty() || word == "auto" || word == "max";
  if (request.reserve && computed && *request.reserve < least_left) {
    return refuse(request, fmt::format("--reserve: expected at least {}, found {}",
                                       to_string(least_left), to_string(*request.reserve)));
  }
  HEADROOM_TRY(const Bytes size,
               computed ? computed_size(request, word == "max") : asked_size(request));
  if (size > request.ram) {
    return refuse(request, fmt::format("--size: {} is more than the {} of RAM", to_string(size),
                                       to_string(request.ram)));
  }
  SizeChoice choice{size, request.ram - size, {}, {}};
  if (choice.left < least_left) {
    return refuse(request, fmt::format("--size: {} would leave {} of {} to the system, expected at "
                                       "least {}",
                                       to_string(size), to_string(choice.left),
                                       to_string(request.ram), to_string(least_left)));
  }
  warn(request, computed, choice);
  return choice;
}

}  // namespace headroom::plan
