// SPDX-License-Identifier: Apache-2.0
#include "facts/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headroom::facts {
namespace {

constexpr Bytes least_for_desktop = 256_MiB;
constexpr Bytes most_for_desktop = 1_GiB;

bool has_screen(const Screens* screens) {
  return screens != nullptr && !screens->connected.empty();
}

Error no_guard(std::string_view part) {
  return {Errc::invalid,
          fmt::format("expected an amount of memory such as 2GiB, \"off\", or PCI/vram=BYTES (or "
                      "gtt, or ram), found \"{}\"",
                      part),
          "headroom run --guard SIZE sets it"};
}

std::optional<GuardedPool> parse_pool(std::string_view word) {
  constexpr std::array all = {GuardedPool::vram, GuardedPool::gtt, GuardedPool::ram};
  for (const GuardedPool pool : all) {
    if (to_string(pool) == word) return pool;
  }
  return std::nullopt;
}

Result<Guard> parse_guard(std::string_view part) {
  const std::size_t slash = part.find('/');
  const std::size_t equals = part.find('=');
  if (slash == std::string_view::npos || slash == 0 || equals == std::string_view::npos ||
      equals < slash)
    return no_guard(part);
  const auto pool = parse_pool(part.substr(slash + 1, equals - slash - 1));
  const auto leave = parse_bytes(part.substr(equals + 1));
  if (!pool || !leave || leave->value == 0) return no_guard(part);
  return Guard{std::string(part.substr(0, slash)), *pool, *leave};
}

}  // namespace

Bytes desktop_reserve(Bytes drawn) {
  return std::clamp(Bytes{drawn.value / 2}, least_for_desktop, most_for_desktop);
}

Bytes drawn_with(const Gpu& gpu) {
  Bytes drawn;
  for (const Holder& holder : gpu.holders) {
    if (holder.in_kfd) continue;
    drawn += holder.vram.value_or(Bytes{}) + holder.gtt.value_or(Bytes{});
  }
  return drawn;
}

std::vector<Guard> make_guards(const Gpu& gpu, const Meminfo& memory, const Screens* screens,
                               std::optional<Bytes> asked) {
  std::vector<Guard> guards;
  if (!gpu.ladder.route || (asked && asked->value == 0)) return guards;
  const bool is_seen = has_screen(screens);
  const Bytes desktop = is_seen ? desktop_reserve(drawn_with(gpu)) : Bytes{};
  const auto add = [&](GuardedPool pool, Bytes leave) {
    if (leave.value > 0) guards.push_back({gpu.pci, pool, leave});
  };
  if (*gpu.ladder.route == Route::vram) {
    add(GuardedPool::vram, asked.value_or(desktop));
    return guards;
  }
  const Bytes system = memory.total ? machine_reserve(*memory.total) : Bytes{};
  add(GuardedPool::ram, asked.value_or(system + desktop));
  add(GuardedPool::gtt, std::min(desktop, asked.value_or(desktop)));
  return guards;
}

std::string to_text(const std::vector<Guard>& guards) {
  std::string text;
  for (const Guard& guard : guards)
    text += fmt::format("{}{}/{}={}", text.empty() ? "" : ",", guard.pci, to_string(guard.pool),
                        guard.leave.value);
  return text;
}

Result<GuardText> parse_guards(std::string_view text) {
  GuardText parsed;
  if (text.empty() || text == "off" || text == "0") return parsed;
  if (text.find('/') == std::string_view::npos) {
    const auto size = parse_bytes(text);
    if (!size || size->value == 0) return no_guard(text);
    parsed.of_each = *size;
    return parsed;
  }
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    HEADROOM_TRY(Guard guard, parse_guard(text.substr(0, comma)));
    parsed.guards.push_back(std::move(guard));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parsed;
}

std::optional<MemoryRoom> make_room(const Guard& guard, const Fact<Bytes>& total,
                                    const Fact<Bytes>& used) {
  if (!total || !used) return std::nullopt;
  const char* name = guard.pool == GuardedPool::vram ? "the VRAM of " : "the GTT of ";
  return MemoryRoom{name + guard.pci, *total, saturating_sub(*total, *used), guard.leave};
}

std::optional<MemoryRoom> make_room(const Guard& guard, const Meminfo& memory) {
  if (!memory.total || !memory.available) return std::nullopt;
  return MemoryRoom{"the system's memory", *memory.total, *memory.available, guard.leave};
}

std::string_view to_string(GuardedPool pool) {
  switch (pool) {
    case GuardedPool::gtt:
      return "gtt";
    case GuardedPool::ram:
      return "ram";
    case GuardedPool::vram:
      break;
  }
  return "vram";
}

}  // namespace headroom::facts
