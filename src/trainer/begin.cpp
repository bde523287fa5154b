// SPDX-License-Identifier: Apache-2.0
#include "trainer/begin.h"

#include <fmt/format.h>

#include <charconv>

#include "allocator/backends/host_verdict.h"
#include "base/json_text.h"
#include "trainer/data/checksum.h"
#include "trainer/gpu_settings.h"
#include "trainer/kernels/kernels.h"
#include "trainer/ranks/c10d_group.h"
#include "trainer/ranks/pipeline.h"

namespace headroom::trainer {
namespace {

// The first hexadecimal digits of a checksum as a number. Requires: at most 16.
std::uint64_t number_of(const std::string& checksum, std::size_t digits) {
  constexpr int hexadecimal = 16;
  std::uint64_t number = 0;
  std::from_chars(checksum.data(), checksum.data() + digits, number, hexadecimal);
  return number;
}

Result<Ranks> join_others(const TrainRequest& request, Observer& observer) {
  if (request.place.is_alone()) return Ranks();
  constexpr std::size_t digits = 16;
  const std::string settings = to_json(request.settings).dump() + (request.resume ? "+" : "");
  const Settings& own = request.settings;
  const std::uint64_t message =
      own.model.part ? message_bytes(own.config, own.model, own.batch.micro) : 0;
  const std::uint64_t job = number_of(data::checksum_of(settings), digits);
  if (!request.place.rendezvous) return Ranks::join(request.place, job, nullptr, message);
  HEADROOM_TRY(auto group, join_c10d(request.place, job, observer));
  return Ranks(request.place, std::move(group));
}

RunLength length_of(const TrainRequest& request, const data::Split& samples) {
  const Settings& settings = request.settings;
  const std::uint64_t steps =
      data::count_steps(samples.training.rows(), settings.batch, settings.epochs);
  const std::uint64_t evaluations =
      settings.evaluate_every == 0 ? settings.epochs : steps / settings.evaluate_every + 1;
  return {.steps = steps,
          .evaluations = samples.evaluation.empty() ? 0 : evaluations,
          .report_bytes = to_json_text(request.predicted, 2).size(),
          .recorded = request.memory == MemorySource::headroom,
          .has_events = request.tensorboard};
}

// The folder is the first rank's. That it has it, and that all read the same data, is known to
// every rank when this returns.
Status agree(Ranks& ranks, const RunIdentity& identity) {
  if (ranks.is_alone()) return Done{};
  constexpr std::size_t digits = 13;  // 52 bits, which a double holds.
  std::string text;
  for (const auto& [key, value] : identity) text += key + "=" + value + "\n";
  const auto own = static_cast<double>(number_of(data::checksum_of(text), digits));
  HEADROOM_TRY(const auto told, ranks.tell({own}));
  if (!told)
    return Error{Errc::io, "a rank ended before the training began", "what it printed says why"};
  for (const Told& other : *told) {
    if (other.numbers.front() == own) continue;
    return Error{
        Errc::invalid,
        fmt::format("expected rank {} to read the same data as this one, found others", other.rank),
        "start again when nothing writes into the job's data"};
  }
  return Done{};
}

Result<Bytes> capacity_of(const TrainRequest& request) {
  const Settings& settings = request.settings;
  const auto gpu = settings.model.gpu();
  HEADROOM_TRY(const Bytes asked, settings.capacity ? Result<Bytes>(*settings.capacity)
                                  : gpu             ? free_on_gpu(*gpu)
                                                    : installed_ram());
  const std::uint32_t sharers = settings.capacity ? 1
                                : gpu             ? ranks_on_same_gpu(request.place, count_gpus())
                                                  : request.place.on_this_machine;
  return Bytes{round_down(asked.value / sharers, allocator::page_bytes)};  // As the allocator does.
}

// Of what the job offloads, if anything.
Result<std::optional<Bytes>> host_capacity_of(const TrainRequest& request) {
  const Offload& offload = request.settings.offload;
  if (!offload.any()) return std::optional<Bytes>();
  HEADROOM_TRY(const Bytes asked, offload.capacity
                                      ? Result<Bytes>(*offload.capacity)
                                      : free_host_memory(request.place.on_this_machine));
  return std::optional(Bytes{round_down(asked.value, allocator::page_bytes)});
}

// Of the device, and of what is offloaded.
struct Capacities {
  Bytes device;
  std::optional<Bytes> host;
};

// A capacity is taken at its word, also where others hold what it counts on.
void note_scarce_host(const TrainRequest& request, Observer& observer) {
  const std::optional<Bytes>& asked = request.settings.offload.capacity;
  if (!request.settings.offload.any() || !asked) return;
  const auto free = free_host_memory(request.place.on_this_machine);
  if (free && *asked > *free)
    observer.on_note(fmt::format("device.host_capacity is {}, and {} of host memory is free for it",
                                 to_string(*asked), to_string(*free)));
}

Result<std::unique_ptr<DeviceMemory>> make_memory(const TrainRequest& request,
                                                  const Capacities& capacities,
                                                  Observer& observer) {
  const auto gpu = request.settings.model.gpu();
  const auto refusal = gpu ? std::nullopt : allocator::find_host_refusal();
  if (refusal) observer.on_note("without virtual memory: " + *refusal);
  note_scarce_host(request, observer);
  const std::uint32_t rank = request.place.rank;
  HEADROOM_TRY(auto memory,
               DeviceMemory::create({.capacity = capacities.device,
                                     .source = request.memory,
                                     .trace_path = rank == 0 ? request.trace_path : "",
                                     .recording_path = recording_path(request.output, rank),
                                     .batch = request.settings.batch.micro,
                                     .virtual_memory = !refusal,
                                     .gpu = gpu,
                                     .host_capacity = capacities.host}));
  if (!gpu && !kernels::kernels().fused)
    observer.on_note(
        "this processor does not say that it has AVX2 and fused multiply-add: training "
        "runs on portable kernels, which are several times slower");
  if (const auto& problem = memory->recording_problem())
    observer.on_note("no flight recording: " + problem->message);
  return memory;
}

}  // namespace

Result<Begun> begin(const TrainRequest& request, Observer& observer) {
  const Settings& settings = request.settings;
  Begun begun;
  Capacities capacities;
  HEADROOM_TRY(capacities.device, capacity_of(request));
  HEADROOM_TRY(capacities.host, host_capacity_of(request));
  HEADROOM_CHECK(check_capacity(settings, capacities.device, capacities.host));
  // One that comes back joins the others last: they wait for it from then on.
  const bool comes_back = request.place.comes_back;
  if (!comes_back) {
    HEADROOM_TRY(begun.ranks, join_others(request, observer));
  }
  const bool leads = !comes_back && begun.ranks.leads();
  if (leads) {
    HEADROOM_TRY(OutputLock lock, open_output(request.output, request.resume));
    if (lock.missing())
      observer.on_note("nothing keeps another run from writing there too: " + *lock.missing());
    begun.lock.emplace(std::move(lock));
  }
  HEADROOM_TRY(begun.samples, data::read_split(settings.data, settings.evaluation, settings.seed));
  for (const std::string& note : begun.samples.notes) observer.on_note(note);
  begun.length = length_of(request, begun.samples);
  begun.identity = identify(settings, begun.samples);
  if (leads) {
    OutputSize size = output_size(settings, begun.length);
    size.recording *= request.place.ranks;
    HEADROOM_CHECK(check_room(request.output, size));
  }
  HEADROOM_CHECK(agree(begun.ranks, begun.identity));
  HEADROOM_TRY(begun.memory, make_memory(request, capacities, observer));
  if (comes_back) {
    HEADROOM_TRY(begun.ranks, join_others(request, observer));
  }
  return begun;
}

}  // namespace headroom::trainer
