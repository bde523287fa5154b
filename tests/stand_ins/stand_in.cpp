// SPDX-License-Identifier: Apache-2.0
#include "stand_ins/stand_in.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace headroom::stand_ins {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 0);
}

allocator::testing::Fault fault_of(std::string_view name) {
  using allocator::testing::Fault;
  if (name == "hang") return Fault::hang;
  if (name == "crash") return Fault::crash;
  return name == "live_data_zeroed" ? Fault::live_data_zeroed : Fault::none;
}

std::vector<std::unique_ptr<Gpu>> make_gpus() {
  const char* variable = std::getenv("FAKE_GPU_FAULTS");
  const auto faults = split(variable == nullptr ? "" : variable, ',');
  std::vector<std::unique_ptr<Gpu>> gpus;
  for (std::size_t i = 0; i < number_from("FAKE_GPU_COUNT", 2); ++i) {
    GpuSettings settings;
    settings.total_bytes = number_from("FAKE_GPU_BYTES", settings.total_bytes);
    settings.is_deferred = number_from("FAKE_GPU_DEFERRED", 0) != 0;
    settings.polls = static_cast<unsigned>(number_from("FAKE_GPU_POLLS", settings.polls));
    if (i < faults.size()) settings.fault = fault_of(faults[i]);
    gpus.push_back(std::make_unique<Gpu>(settings, pinned_memory(), static_cast<unsigned>(i)));
    gpus.back()->refuse_allocation(number_from("FAKE_GPU_REFUSE", 0));
  }
  return gpus;
}

// They are never destroyed: programs call a driver until the very end, from destructors of statics.
std::vector<std::unique_ptr<Gpu>>& gpus() {
  static auto* const made = new std::vector<std::unique_ptr<Gpu>>(make_gpus());
  return *made;
}

std::atomic<int> captures = 0;

}  // namespace

int device_count() {
  return static_cast<int>(gpus().size());
}

Gpu& gpu_of(int device) {
  return *gpus().at(static_cast<std::size_t>(device));
}

PinnedMemory& pinned_memory() {
  static auto* const memory = new PinnedMemory;
  return *memory;
}

std::string pci_address(int device) {
  return fmt::format("0000:{:02X}:00.0", 12 + 3 * device);
}

std::uint64_t count_of(Gpu& gpu, const std::string& what) {
  const GpuCounts counts = gpu.counts();
  const std::map<std::string, std::uint64_t> all = {
      {"allocations", counts.allocations},
      {"releases", counts.releases},
      {"plain_bytes", counts.plain_bytes},
      {"peak_plain_bytes", counts.peak_plain_bytes},
      {"copies", counts.copies},
      {"fills", counts.fills},
      {"launches", counts.launches},
      {"virtual_memory_calls", gpu.virtual_memory_calls()},
      {"memory_info_calls", gpu.memory_info_calls()},
      {"is_lost", gpu.is_lost() ? 1 : 0},
  };
  return all.at(what);
}

bool is_any_captured() {
  static const bool always = number_from("FAKE_GPU_CAPTURED", 0) != 0;
  return always || captures > 0;
}

void count_capture(int change) {
  captures += change;
}

int code_of(const Gpu& gpu, const Error& error) {
  if (gpu.is_lost()) return illegal_address;
  return error.code == Errc::out_of_memory ? out_of_memory : invalid_value;
}

}  // namespace headroom::stand_ins
