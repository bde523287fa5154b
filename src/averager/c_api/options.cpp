// SPDX-License-Identifier: Apache-2.0
#include "averager/c_api/options.h"

#include <fmt/format.h>

namespace headroom::averager::c_api {
namespace {

template <class Struct>
Status check_size(const Struct* given, const char* macro) {
  if (given != nullptr && given->size == sizeof(Struct)) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected a struct of {} bytes, found {}", sizeof(Struct),
                           given == nullptr ? "a null pointer" : std::to_string(given->size)),
               fmt::format("begin with {}", macro)};
}

Pinning to_pinning(const headroom_averager_options& given) {
  Pinning pinning;
  if (given.pin != nullptr)
    pinning.pin = [pin = given.pin, context = given.context](std::byte* memory,
                                                             std::uint64_t bytes) -> Status {
      const int result = pin(context, memory, bytes);
      if (result == 0) return Done{};
      return Error{Errc::unsupported,
                   fmt::format("expected the segment's {} bytes to be pinned, found error {} of "
                               "the callback",
                               bytes, result),
                   "ulimit -l; or leave pin null, and copies go through pageable memory"};
    };
  if (given.unpin != nullptr)
    pinning.unpin = [unpin = given.unpin, context = given.context](std::byte* memory) {
      unpin(context, memory);
    };
  return pinning;
}

}  // namespace

Result<Options> read_options(const headroom_averager_options* given) {
  HEADROOM_CHECK(check_size(given, "HEADROOM_AVERAGER_OPTIONS_INIT"));
  if (given->name == nullptr)
    return Error{Errc::invalid, "expected the name of the job, found a null pointer", "set name"};
  Options options;
  options.place.name = given->name;
  options.terms = {.job = given->job,
                   .arena_bytes = given->arena_bytes,
                   .ranks = given->ranks,
                   .slots = given->in_flight,
                   .chunk_bytes = given->chunk_bytes,
                   .policy = given->policy};
  options.rank = given->rank;
  options.meet_ms = given->meet_ms;
  options.times = {.silent_ms = given->silent_ms, .absent_ms = given->absent_ms};
  options.background = given->background != 0;
  options.pinning = to_pinning(*given);
  return options;
}

Result<Request> read_bucket(const headroom_averager_bucket* given) {
  HEADROOM_CHECK(check_size(given, "HEADROOM_AVERAGER_BUCKET_INIT"));
  if (given->kind > HEADROOM_AVERAGER_BROADCAST)
    return Error{Errc::invalid, fmt::format("expected a kind up to 2, found {}", given->kind),
                 "HEADROOM_AVERAGER_AVERAGE and its like name them"};
  if ((given->flags & ~std::uint32_t{HEADROOM_AVERAGER_IN_PIECES}) != 0)
    return Error{
        Errc::invalid,
        fmt::format("expected flags 0 or HEADROOM_AVERAGER_IN_PIECES, found {}", given->flags),
        "a newer library may have more"};
  return Request{.kind = static_cast<Kind>(given->kind),
                 .type = static_cast<ElementType>(given->type),
                 .data = static_cast<std::byte*>(given->data),
                 .elements = given->elements,
                 .root = given->root,
                 .in_pieces = (given->flags & HEADROOM_AVERAGER_IN_PIECES) != 0};
}

}  // namespace headroom::averager::c_api
