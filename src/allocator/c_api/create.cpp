// SPDX-License-Identifier: Apache-2.0
// Creating and destroying allocators for C.
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <utility>

#include "allocator/c_api/handle.h"
#include "allocator/c_api/last_error.h"
#include "allocator/c_api/options.h"
#include "allocator/files/budget_ledger.h"
#include "base/bytes.h"
#include "facts/guard.h"

namespace headroom::allocator::c_api {
namespace {

// A flight recorder has a ring for each stream that has a shard of its own.
constexpr std::uint32_t recorded_shards = 16;
constexpr std::uint64_t default_events = 16384;

Result<std::uint64_t> capacity_of(const headroom_allocator_options& options,
                                  const OpenDevice& device) {
  if (options.capacity_bytes != 0) return options.capacity_bytes;
  const auto memory = device.backend->device_memory();
  if (memory) return memory->total_bytes;
  return Error{Errc::unsupported,
               "the driver does not say how much memory the GPU has: " + memory.error().message,
               "set capacity_bytes"};
}

Result<std::unique_ptr<BudgetLedger>> join_budget(const headroom_allocator_options& options,
                                                  std::uint64_t capacity) {
  if (options.budget_path == nullptr) return std::unique_ptr<BudgetLedger>();
  LedgerOptions ledger;
  ledger.total_bytes = options.budget_total_bytes != 0 ? options.budget_total_bytes : capacity;
  if (options.budget_share_bytes != 0) ledger.share = Share::of_bytes(options.budget_share_bytes);
  return BudgetLedger::join(options.budget_path, ledger);
}

Result<std::unique_ptr<SystemGuard>> set_guard(const headroom_allocator_options& options,
                                               const OpenDevice& device, Budget* shared) {
  if (options.guard == nullptr) return std::unique_ptr<SystemGuard>();
  HEADROOM_TRY(const facts::GuardText guards, facts::parse_guards(options.guard));
  if (!device.count) return std::unique_ptr<SystemGuard>();
  HEADROOM_TRY(machine::Files files, machine::Files::open("/"));
  auto ask = watch_pools(guards, device.pci, std::move(files), device.count);
  if (!ask) return std::unique_ptr<SystemGuard>();
  return std::make_unique<SystemGuard>(std::move(ask), shared);
}

// What the guard keeps of RAM for the desktop and the system, of a GPU that shares it.
Result<Bytes> kept_of_ram(const headroom_allocator_options& options, const OpenDevice& device) {
  if (options.guard == nullptr) return Bytes{};
  HEADROOM_TRY(const facts::GuardText guards, facts::parse_guards(options.guard));
  for (const facts::Guard& guard : guards.guards)
    if (guard.pci == device.pci && guard.pool == facts::GuardedPool::ram) return guard.leave;
  return Bytes{};
}

Result<std::unique_ptr<FlightRecorder>> start_recorder(const headroom_allocator_options& options,
                                                       std::uint64_t capacity,
                                                       const std::string& device) {
  if (options.flight_recorder_path == nullptr) return std::unique_ptr<FlightRecorder>();
  const std::uint64_t events = options.flight_recorder_events;
  return FlightRecorder::create(options.flight_recorder_path,
                                {.shards = recorded_shards,
                                 .shard_records = events != 0 ? events : default_events,
                                 .capacity_bytes = capacity,
                                 .device = device});
}

HeadroomAllocator::Options core_options(const headroom_allocator_options& options,
                                        BackgroundThread* background, FlightRecorder* recorder) {
  HeadroomAllocator::Options core;
  core.virtual_memory = options.virtual_memory != HEADROOM_VIRTUAL_MEMORY_OFF;
  core.planning = options.planning != HEADROOM_PLANNING_OFF;
  if (background != nullptr)
    core.executor = [background](std::function<void()> work) { background->run(std::move(work)); };
  if (recorder != nullptr) {
    core.recorder = [recorder](std::uint32_t shard) {
      return shard < recorder->shards() ? &recorder->shard(shard) : nullptr;
    };
    core.device_recorder = &recorder->device_shard();
  }
  return core;
}

Result<headroom_allocator*> create(const headroom_allocator_options* given) {
  HEADROOM_TRY(const headroom_allocator_options options, read_options(given));
  HEADROOM_TRY(machine::ForkGuard guard, machine::ForkGuard::create());
  HEADROOM_TRY(OpenDevice device, open_device(options));
  HEADROOM_TRY(const std::uint64_t capacity, capacity_of(options, device));
  HEADROOM_TRY(auto budget, join_budget(options, capacity));
  HEADROOM_TRY(const Bytes kept, kept_of_ram(options, device));
  HEADROOM_TRY(auto guarded, set_guard(options, device, budget.get()));
  HEADROOM_TRY(auto recorder, start_recorder(options, capacity, device.name));
  std::unique_ptr<BackgroundThread> background;
  if (options.planning == HEADROOM_PLANNING_BACKGROUND) {
    HEADROOM_TRY(background, BackgroundThread::start());
  }
  auto core = core_options(options, background.get(), recorder.get());
  core.budget = guarded ? static_cast<Budget*>(guarded.get()) : budget.get();
  std::string description = fmt::format("headroom on {}, at most {}, {}", device.name,
                                        to_string(Bytes{capacity}), device.virtual_memory);
  auto made = std::unique_ptr<State>(new State{
      .guard = std::move(guard),
      .description = std::move(description),
      .background = std::move(background),
      .budget = std::move(budget),
      .system_guard = std::move(guarded),
      .kept_of_ram = kept,
      .recording_path = recorder ? options.flight_recorder_path : "",
      .recorder = std::move(recorder),
      .names = {},
      .allocator = {std::move(device.backend), capacity, std::move(core)},
      .streams = {},
  });
  auto* handle = new headroom_allocator{.state = made.get()};
  static_cast<void>(made.release());
  return handle;
}

// The handles of destroyed allocators, which stay (see handle.h): kept reachable, so that a leak
// checker does not report them. It is only ever written.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit std::atomic<headroom_allocator*> destroyed = nullptr;

void bury(headroom_allocator* handle) {
  handle->destroyed_before = destroyed.load(std::memory_order_relaxed);
  while (!destroyed.compare_exchange_weak(handle->destroyed_before, handle,
                                          std::memory_order_acq_rel)) {
  }
}

}  // namespace

Result<State*> use(const headroom_allocator* handle) {
  if (handle == nullptr)
    return Error{Errc::invalid, "expected an allocator, found a null pointer",
                 "headroom_last_error() after headroom_allocator_create() says why it failed"};
  State* const state = handle->state.load(std::memory_order_acquire);
  if (state == nullptr)
    return Error{Errc::invalid, "expected an allocator, found one that was destroyed",
                 "destroy it when nobody has blocks of it, or leave it to the end of the process"};
  if (state->guard.is_owner()) return state;
  return Error{Errc::unsupported, "this process was forked from the one whose memory this is",
               "create an allocator after the fork (Python: multiprocessing's start method "
               "\"spawn\")"};
}

Result<Component> component_of(std::uint16_t component) {
  if (component < component_count) return all_components.at(component);
  return Error{
      Errc::invalid,
      fmt::format("expected a component from 0 to {}, found {}", component_count - 1, component),
      "HEADROOM_WEIGHTS and its like name them"};
}

}  // namespace headroom::allocator::c_api

using namespace headroom::allocator::c_api;  // NOLINT(google-build-using-namespace)

headroom_allocator* headroom_allocator_create(const headroom_allocator_options* options) {
  return value_of<headroom_allocator*>(nullptr, [&] { return create(options); });
}

void headroom_allocator_destroy(headroom_allocator* allocator) {
  if (allocator == nullptr) return;
  State* const state = allocator->state.load(std::memory_order_acquire);
  // In a forked child the memory and the thread belong to the parent, and locks may be taken.
  if (state == nullptr || !state->guard.is_owner()) return;
  if (allocator->state.exchange(nullptr, std::memory_order_acq_rel) == nullptr) return;
  delete state;
  bury(allocator);
}
