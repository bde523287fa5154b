// SPDX-License-Identifier: Apache-2.0
// The steps that there are, in their order, and how long each may take.
#pragma once

#include <chrono>
#include <span>
#include <string_view>

namespace headroom::proof {

struct StepKind {
  std::string_view name;
  std::string_view meaning;    // "a matrix product in 32 bits".
  std::chrono::seconds limit;  // A step without progress for so long counts as hung.
};

// Before any other: the framework is loaded and asked for its devices.
inline constexpr std::string_view import_step = "import";
// A training tells each of its steps (StepLines).
inline constexpr std::string_view training_step = "training";
// The load of minutes, of which soak_kinds() are readings.
inline constexpr std::string_view soak_step = "soak";

// Of `headroom test --multi`.
inline constexpr std::string_view peer_step = "peer-copy";
inline constexpr std::string_view nccl_step = "all-reduce-nccl";
inline constexpr std::string_view no_peers_step = "all-reduce-nccl-no-p2p";
inline constexpr std::string_view gloo_step = "all-reduce-gloo";
inline constexpr std::string_view ddp_step = "ddp";
inline constexpr std::string_view fsdp_step = "fsdp";
inline constexpr std::string_view data_parallel_step = "data-parallel";

// Of `headroom test`, without those of its level soak.
std::span<const StepKind> step_kinds();
// What the level soak adds: the load and what is read of it.
std::span<const StepKind> soak_kinds();
// Of `headroom test --multi`.
std::span<const StepKind> together_kinds();
// Of `headroom try`.
std::span<const StepKind> trial_kinds();
// Of any of them. nullptr: there is no such step.
const StepKind* find_step(std::string_view name);

}  // namespace headroom::proof
