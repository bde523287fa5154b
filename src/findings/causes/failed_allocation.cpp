// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/failed_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "findings/causes/amounts.h"
#include "findings/causes/device_memory.h"

namespace headroom::findings {
namespace {

using logs::Observation;

constexpr std::array<std::string_view, 15> failures = {"torch-oom",
                                                       "torch-alloc-limit",
                                                       "torch-oom-short",
                                                       "hip-oom",
                                                       "ggml-oom",
                                                       "ggml-error-oom",
                                                       "tf-oom",
                                                       "tf-oom-tensor",
                                                       "xla-oom",
                                                       "arena-limit",
                                                       "arena-oom",
                                                       "cupy-oom",
                                                       "vllm-startup-memory",
                                                       "ggml-buffer",
                                                       "kernel-no-memory"};

// Adds up what other processes have: "Process 12 has 1.50 GiB memory in use. Including non-PyTorch
// memory, this process has …". In a container the job sees itself under another PID, so an entry as
// large as what PyTorch has reserved is the job itself.
Bytes sum_of_others(std::string_view holders, Bytes reserved) {
  Bytes sum;
  bool met_itself = holders.find("this process has") != std::string_view::npos;
  std::vector<Bytes> amounts;
  std::size_t at = 0;
  while ((at = holders.find("Process ", at)) != std::string_view::npos) {
    const std::size_t has = holders.find(" has ", at);
    const std::size_t end = holders.find(" memory in use", at);
    if (has == std::string_view::npos || end == std::string_view::npos) break;
    const auto amount = parse_bytes(holders.substr(has + 5, end - has - 5));
    if (amount) amounts.push_back(*amount);
    at = end;
  }
  std::sort(amounts.rbegin(), amounts.rend());
  for (const Bytes amount : amounts) {
    const bool is_job = !met_itself && amount >= reserved && amount < reserved + 2_GiB;
    if (is_job) {
      met_itself = true;
    } else {
      sum += amount;
    }
  }
  return sum;
}

std::optional<Bytes> amount_between(std::string_view sentences, std::string_view before) {
  const std::size_t begin = sentences.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view rest = sentences.substr(begin + before.size());
  const auto amount = parse_bytes(rest.substr(0, rest.find(" memory in use")));
  return amount ? std::optional(*amount) : std::nullopt;
}

// Reads CUDAMallocAsyncAllocator's table: "Currently allocated : 13.01 GiB" and so on, one entry on
// each line.
void read_table(const Observation& seen, FailedAllocation& failed) {
  for (const std::string& line : seen.output) {
    const std::size_t colon = line.rfind(" : ");
    const std::size_t sign = colon == std::string::npos ? line.rfind(": ") : colon + 1;
    if (sign == std::string::npos) continue;
    std::string text(trim(std::string_view(line).substr(sign + 2)));
    if (text.ends_with("bytes")) text.resize(text.size() - 5);
    const auto amount = parse_bytes(text);
    if (!amount) continue;
    const auto begins = [&](std::string_view word) {
      return trim(line).substr(0, word.size()) == word;
    };
    if (begins("Currently allocated")) failed.allocated = *amount;
    if (begins("Requested")) failed.asked = *amount;
    if (begins("Device limit")) failed.capacity = *amount;
    if (begins("Free (according")) failed.free = *amount;
  }
}

FailedAllocation read_failure(const Observation& seen) {
  FailedAllocation failed;
  failed.seen = &seen;
  failed.asked = amount_of(seen, "asked");
  failed.capacity = amount_of(seen, "capacity");
  failed.free = amount_of(seen, "free");
  failed.allocated = amount_of(seen, "allocated");
  failed.idle = amount_of(seen, "idle");
  failed.allowed = amount_of(seen, "allowed");
  const auto reserved = amount_of(seen, "reserved");
  if (!failed.idle && reserved && failed.allocated) {
    failed.idle = saturating_sub(*reserved, *failed.allocated);
  }
  const Bytes own = failed.allocated.value_or(Bytes{}) + failed.idle.value_or(Bytes{});
  failed.named_others = sum_of_others(seen.value("holders"), own);
  failed.process = amount_between(seen.value("holders"), "this process has ");
  if (seen.id() == "torch-alloc-limit") read_table(seen, failed);
  // At vLLM's start the job has not taken anything yet.
  if (seen.id() == "vllm-startup-memory") failed.allocated = failed.idle = Bytes{};
  return failed;
}

// llama.cpp reports its buffers one by one; those before the failure are the job's own.
Bytes buffers_before(const logs::Observations& log, const Observation& failure) {
  Bytes sum;
  for (const Observation* one : log.of("ggml-buffer-size")) {
    const std::string_view card = failure.value("device");
    const bool same_card = card.empty() || one->value("device") == card;
    if (same_card && one->log == failure.log && is_before(*one, failure)) {
      sum += amount_of(*one, "size").value_or(Bytes{});
    }
  }
  return sum;
}

std::optional<Bytes> size_of_card(const LogSubject& subject, const DeviceMemory& device) {
  if (device.job_total) return device.job_total->amount;
  if (device.pool) return device.pool->amount;
  // An APU's carve-out is not what the job gets.
  if (!device.unified) {
    if (device.vram_total) return device.vram_total->amount;
    if (subject.scene.vram) return *subject.scene.vram;
  }
  return device.job_free ? std::optional(device.job_free->amount) : std::nullopt;
}

}  // namespace

int FailedAllocation::figures() const {
  return static_cast<int>(asked.has_value()) + static_cast<int>(capacity.has_value()) +
         static_cast<int>(free.has_value()) + static_cast<int>(allocated.has_value()) +
         static_cast<int>(idle.has_value()) + static_cast<int>(allowed.has_value());
}

std::optional<Bytes> FailedAllocation::unaccounted() const {
  if (!capacity || !free || !allocated) return std::nullopt;
  const Bytes own = std::max(*allocated + idle.value_or(Bytes{}), process.value_or(Bytes{}));
  return saturating_sub(*capacity, *free + own);
}

std::vector<FailedAllocation> failed_allocations(const logs::Observations& log) {
  std::vector<FailedAllocation> failed;
  for (const Observation& one : log.all()) {
    if (std::find(failures.begin(), failures.end(), one.id()) != failures.end()) {
      failed.push_back(read_failure(one));
    }
  }
  return failed;
}

std::optional<FailedAllocation> failed_allocation(const LogSubject& subject) {
  const auto all = failed_allocations(subject.log);
  const auto best = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.figures() < b.figures();
  });
  if (best == all.end()) return std::nullopt;
  FailedAllocation failed = *best;
  if (!failed.allocated && failed.seen->id().starts_with("ggml")) {
    failed.allocated = buffers_before(subject.log, *failed.seen);
  }
  const DeviceMemory device = device_memory(subject);
  if (!failed.capacity) failed.capacity = size_of_card(subject, device);
  return failed;
}

bool is_no_size(const std::optional<Bytes>& asked) {
  constexpr Bytes none_has{std::uint64_t{1} << 50};
  return asked && *asked >= none_has;
}

bool is_before(const Observation& one, const Observation& other) {
  return std::pair(one.log, one.line) < std::pair(other.log, other.line);
}

bool recovered(const logs::Observations& log, const Observation& failure) {
  return std::any_of(log.all().begin(), log.all().end(), [&](const Observation& one) {
    return one.signature->role == knowledge::Role::progress && is_before(failure, one);
  });
}

bool ran_well(const logs::Observations& log) {
  return log.first_with(knowledge::Role::progress) != nullptr &&
         log.first_with(knowledge::Role::failure) == nullptr;
}

std::optional<Arena> tensorflow_arena(const logs::Observations& log) {
  const Observation* stats = log.last("tf-stats");
  if (stats == nullptr) return std::nullopt;
  Arena arena;
  for (const std::string& line : stats->output) {
    const auto words = split_words(line);
    if (words.size() < 2) continue;
    const auto amount = parse_u64(words.back());
    const std::string_view name = words[words.size() - 2];
    if (amount && name == "Limit:") arena.limit = Bytes{*amount};
    if (amount && name == "InUse:") arena.used = Bytes{*amount};
  }
  if (arena.limit.value == 0) return std::nullopt;
  return arena;
}

}  // namespace headroom::findings
