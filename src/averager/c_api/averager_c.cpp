// SPDX-License-Identifier: Apache-2.0
// The functions of include/headroom/averager.h.
#include <headroom/averager.h>

#include <memory>
#include <utility>

#include "averager/averager.h"
#include "averager/c_api/last_error.h"
#include "averager/c_api/options.h"
#include "machine/fork_guard.h"

struct headroom_averager {
  headroom::machine::ForkGuard guard;
  std::unique_ptr<headroom::averager::Averager> averager;
};

namespace headroom::averager::c_api {
namespace {

Result<Averager*> use(const headroom_averager* handle) {
  if (handle == nullptr)
    return Error{
        Errc::invalid, "expected an averager, found a null pointer",
        "headroom_averager_last_error() after headroom_averager_open() says why it failed"};
  if (handle->guard.is_owner()) return handle->averager.get();
  return Error{Errc::unsupported, "this process was forked from the one that is this rank",
               "open an averager after the fork"};
}

Result<headroom_averager*> open(const headroom_averager_options* given) {
  HEADROOM_TRY(const Options options, read_options(given));
  HEADROOM_TRY(machine::ForkGuard guard, machine::ForkGuard::create());
  HEADROOM_TRY(auto averager, Averager::open(options));
  return new headroom_averager{.guard = std::move(guard), .averager = std::move(averager)};
}

Status start(headroom_averager* handle, const Request& request, std::uint64_t* ticket) {
  HEADROOM_TRY(Averager * averager, use(handle));
  if (ticket == nullptr)
    return Error{Errc::invalid, "expected a place for the ticket, found a null pointer", ""};
  HEADROOM_TRY(*ticket, averager->start(request));
  return Done{};
}

Status wait(headroom_averager* handle, std::uint64_t ticket, headroom_averager_result* result) {
  HEADROOM_TRY(Averager * averager, use(handle));
  if (result != nullptr && result->size != sizeof(headroom_averager_result))
    return Error{Errc::invalid, "expected a result of this library's size, found another",
                 "begin with HEADROOM_AVERAGER_RESULT_INIT"};
  HEADROOM_TRY(const Outcome outcome, averager->wait(ticket));
  if (result != nullptr)
    *result = {.size = sizeof(headroom_averager_result),
               .present = outcome.present,
               .lost = outcome.lost,
               .joined = outcome.joined,
               .reserved = 0};
  return Done{};
}

Status run(headroom_averager* handle, const Request& request, headroom_averager_result* result) {
  std::uint64_t ticket = 0;
  HEADROOM_CHECK(start(handle, request, &ticket));
  return wait(handle, ticket, result);
}

}  // namespace
}  // namespace headroom::averager::c_api

using namespace headroom::averager;         // NOLINT(google-build-using-namespace)
using namespace headroom::averager::c_api;  // NOLINT(google-build-using-namespace)
using headroom::Done;
using headroom::Status;

std::uint32_t headroom_averager_abi(void) {
  return HEADROOM_AVERAGER_ABI;
}

headroom_averager* headroom_averager_open(const headroom_averager_options* options) {
  headroom_averager* opened = nullptr;
  status_of([&]() -> Status {
    HEADROOM_TRY(opened, open(options));
    return Done{};
  });
  return opened;
}

void headroom_averager_close(headroom_averager* averager) {
  // In a forked child the place and the threads belong to the parent.
  if (averager != nullptr && averager->guard.is_owner()) delete averager;
}

std::uint32_t headroom_averager_has_come_back(const headroom_averager* averager) {
  const auto used = use(averager);
  return used && (*used)->has_come_back() ? 1 : 0;
}

void* headroom_averager_allocate(headroom_averager* averager, std::uint64_t bytes) {
  void* memory = nullptr;
  status_of([&]() -> Status {
    HEADROOM_TRY(Averager * used, use(averager));
    HEADROOM_TRY(memory, used->allocate(bytes));
    return Done{};
  });
  return memory;
}

headroom_averager_status headroom_averager_free(headroom_averager* averager, void* memory) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(Averager * used, use(averager));
    return used->free(static_cast<const std::byte*>(memory));
  });
}

headroom_averager_status headroom_averager_start(headroom_averager* averager,
                                                 const headroom_averager_bucket* bucket,
                                                 std::uint64_t* ticket) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(const Request request, read_bucket(bucket));
    return start(averager, request, ticket);
  });
}

headroom_averager_status headroom_averager_wait(headroom_averager* averager, std::uint64_t ticket,
                                                headroom_averager_result* result) {
  return status_of([&] { return wait(averager, ticket, result); });
}

headroom_averager_status headroom_averager_run(headroom_averager* averager,
                                               const headroom_averager_bucket* bucket,
                                               headroom_averager_result* result) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(const Request request, read_bucket(bucket));
    return run(averager, request, result);
  });
}

headroom_averager_status headroom_averager_step(headroom_averager* averager,
                                                headroom_averager_result* result) {
  return status_of([&] { return run(averager, Request{.kind = Kind::step}, result); });
}
