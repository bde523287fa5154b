// SPDX-License-Identifier: Apache-2.0
#include "cli/command_options.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "base/printable.h"
#include "base/text.h"

namespace headroom::cli {
namespace {

using supervisor::Time;

constexpr double longest_s = 1e9;  // Thirty years.
constexpr std::uint64_t most_restarts = 1'000'000;
constexpr Bytes least_memory = 1_MiB;    // Below it no program starts.
constexpr Time longest_back_off{60000};  // Where it doubles to, unless more is asked for.

Result<Time> parse_seconds(const std::string& option, const std::string& text) {
  const auto number = parse_double(text);
  if (number && std::isfinite(*number) && *number >= 0 && *number <= longest_s)
    return Time{std::llround(*number * 1000)};
  return Error{Errc::invalid,
               fmt::format("{}: expected a number of seconds, found \"{}\"", option, text),
               fmt::format("{} 30", option)};
}

// Digits alone: a minus sign in front would otherwise mean for ever.
Result<std::uint64_t> parse_restarts(const std::string& text) {
  const auto number = parse_u64(text);
  if (number && *number <= most_restarts) return *number;
  return Error{Errc::invalid,
               fmt::format("--restarts: expected a whole number from 0 to {}, found \"{}\"",
                           most_restarts, printable(text)),
               "--restarts 3"};
}

Result<std::optional<Time>> parse_hang(const std::string& text) {
  if (text == "off") return std::optional<Time>();
  HEADROOM_TRY(const Time time, parse_seconds("--hang", text));
  if (time.count() > 0) return std::optional(time);
  return Error{
      Errc::invalid,
      fmt::format("--hang: expected a number of seconds above 0, or off, found \"{}\"", text),
      "--hang 600"};
}

Result<std::optional<Bytes>> parse_memory(const std::string& text) {
  if (text.empty()) return std::optional<Bytes>();
  auto memory = parse_bytes(text);
  if (!memory) return std::move(memory).error().in("--memory");
  if (*memory >= least_memory) return std::optional(*memory);
  return Error{
      Errc::invalid,
      fmt::format("--memory: expected at least {}, found \"{}\"", to_string(least_memory), text),
      "write it with its unit: --memory 8GiB"};
}

}  // namespace

void CommandOptions::add_to(CLI::App& command) {
  const std::string group = "With a command after --, or a job with [engine] kind = \"command\"";
  const auto add = [&](const char* option, std::string& value, const char* meaning,
                       const char* type) {
    command.add_option(option, value, meaning)->type_name(type)->group(group);
  };
  add("--report", report, "Write what happened into this file, as JSON (headroom.run/1)", "FILE");
  add("--name", name, "The command's name in messages and in the history (default: its program's)",
      "NAME");
  add("--memory", memory,
      "Limit the memory of all its processes together, by a control group if there is one", "SIZE");
  add("--device", devices, "Let it see only these GPUs, as ROCm numbers them: 0, or 0,2", "LIST");
  add("--restarts", restarts,
      "Restart it after a crash, at most N times (default: 0). Retries with a smaller batch after "
      "an out-of-memory error do not count",
      "N");
  add("--back-off", back_off,
      "Wait this long before a restart (default: 1). The time doubles with each restart, up to 60",
      "SECONDS");
  add("--hang", hang,
      "End it if it writes nothing and uses neither the processor nor the GPU for this long "
      "(default: off)",
      "SECONDS|off");
  add("--grace", grace, "How long to wait between SIGTERM and SIGKILL (default: 10)", "SECONDS");
  add("--settings", settings,
      "What {micro}, {accumulate} and {resume} stand for in the command: "
      "micro=8,accumulate=4,resume=--resume. After an out-of-memory error micro is halved and "
      "accumulate doubled. headroom knows the flags of common training programs without this "
      "option",
      "KEY=VALUE,...");
  command
      .add_flag("--keep-env", keep_env,
                "Keep environment variables that are known to break jobs on this machine's GPUs")
      ->group(group);
  command
      .add_flag(
          "--allocator", allocator,
          "Use headroom's allocator in its PyTorch and ONNX Runtime; the script needs no change")
      ->group(group);
  add("--split", split,
      "With --allocator: if a training step runs out of memory, compute it again in parts; on "
      "SIGTERM "
      "write a checkpoint (default: on)",
      "on|off");
  add("--guard", guard,
      "Keep this much free for the desktop and the system: RAM on an APU, VRAM on a card with a "
      "screen (default: auto with --allocator, otherwise off). A command that takes more gets an "
      "out-of-memory error, or is ended before the machine freezes",
      "SIZE|auto|off");
  add("--ranks", ranks,
      "Start it N times, once for each GPU, with the environment of torchrun; torch.distributed "
      "averages gradients through shared memory, without RCCL (default: 1). With auto, as many as "
      "there are GPUs. A job of headroom's own trainer is shared by N processes",
      "N|auto");
  add("--lost-rank", lost_rank,
      "With --ranks: if a rank fails, stop the others (the default), or continue without it; "
      "restart also starts it again to join them, in a job of headroom's own trainer",
      "stop|continue|restart");
  add("--root", root, "Use the GPUs of this folder, which mirrors a machine; for tests", "DIR");
}

std::vector<std::string> CommandOptions::names() {
  return {"--report", "--name",  "--memory",    "--device",   "--restarts",  "--back-off",
          "--hang",   "--grace", "--settings",  "--keep-env", "--allocator", "--split",
          "--guard",  "--ranks", "--lost-rank", "--root"};
}

Result<supervisor::Policy> parse_policy(const CommandOptions& options) {
  supervisor::Policy policy;
  HEADROOM_TRY(policy.restarts, parse_restarts(options.restarts));
  HEADROOM_TRY(policy.back_off, parse_seconds("--back-off", options.back_off));
  policy.longest_back_off = std::max(longest_back_off, policy.back_off);
  HEADROOM_TRY(policy.hang, parse_hang(options.hang));
  HEADROOM_TRY(policy.grace, parse_seconds("--grace", options.grace));
  HEADROOM_TRY(policy.memory, parse_memory(options.memory));
  return policy;
}

Result<supervisor::Settings> parse_given(const CommandOptions& options) {
  if (options.settings.empty()) return supervisor::Settings{};
  return supervisor::parse_settings(options.settings);
}

Result<RankChoice> parse_ranks(const CommandOptions& options) {
  RankChoice choice;
  const auto lost = run::parse_lost_rank(options.lost_rank);
  if (!lost) {
    return Error{Errc::invalid,
                 fmt::format("--lost-rank: expected stop, continue or restart, found \"{}\"",
                             printable(options.lost_rank)),
                 "--lost-rank continue"};
  }
  choice.lost = *lost;
  if (options.ranks.empty()) {
    if (choice.lost == run::LostRank::stop) return choice;
    return Error{Errc::invalid, "--lost-rank: expected --ranks as well, because it is about them",
                 "headroom run --ranks 2 --lost-rank continue -- CMD"};
  }
  const auto number = parse_u64(options.ranks);
  if (options.ranks != "auto" && (!number || *number < 1 || *number > run::most_ranks)) {
    return Error{Errc::invalid,
                 fmt::format("--ranks: expected a number from 1 to {}, or auto, found \"{}\"",
                             run::most_ranks, printable(options.ranks)),
                 "--ranks 2"};
  }
  choice.ranks = static_cast<std::uint32_t>(number.value_or(0));
  return choice;
}

// Without the allocator nobody asks before memory is taken: then it is done only where it was
// typed.
Result<run::GuardChoice> parse_guard(const CommandOptions& options) {
  run::GuardChoice choice{options.allocator, std::nullopt, options.allocator};
  if (options.guard.empty()) return choice;
  choice.is_on = options.guard != "off";
  if (!choice.is_on || options.guard == "auto") return choice;
  auto size = parse_bytes(options.guard);
  if (!size) return std::move(size).error().in("--guard");
  if (*size >= least_memory) {
    choice.size = *size;
    return choice;
  }
  return Error{Errc::invalid,
               fmt::format("--guard: expected at least {}, auto or off, found \"{}\"",
                           to_string(least_memory), printable(options.guard)),
               "write it with its unit: --guard 2GiB"};
}

Result<std::optional<bool>> parse_split(const CommandOptions& options) {
  if (options.split.empty()) return std::optional<bool>();
  if (options.split != "on" && options.split != "off") {
    return Error{Errc::invalid,
                 fmt::format("--split: expected on or off, found \"{}\"", printable(options.split)),
                 "--split off"};
  }
  if (options.allocator) return std::optional(options.split == "on");
  return Error{Errc::invalid, "--split: expected --allocator as well, because it is a part of it",
               "headroom run --allocator --split " + options.split + " -- CMD"};
}

}  // namespace headroom::cli
