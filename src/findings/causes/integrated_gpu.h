// SPDX-License-Identifier: Apache-2.0
// What a log tells of an integrated GPU beside a card: which devices programs list, what masks
// leave out, which of the two is used. For the rule igpu-selected.
#pragma once

#include <string_view>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Lines that tell the index of each; nullptr where none does.
struct ListedDevices {
  const logs::Observation* integrated = nullptr;
  const logs::Observation* discrete = nullptr;
};

ListedDevices listed_devices(const LogSubject& subject, const SceneGpu& integrated);

// Whether a mask that leaves the integrated GPU out was in force at the failure, which clears it.
bool is_masked(const LogSubject& subject, const ListedDevices& devices,
               const logs::Observation& failure);

// Finds such a mask that was set after the failure, if the job then did its work; else nullptr.
const logs::Observation* curing_mask(const LogSubject& subject, const ListedDevices& devices,
                                     const logs::Observation& failure);

// Whether the same failure came again behind such a mask.
bool fails_without_it(const LogSubject& subject, const ListedDevices& devices,
                      const logs::Observation& failure);

// Whether the program uses the integrated GPU.
bool is_in_use(const LogSubject& subject, const SceneGpu& integrated, const ListedDevices& devices);

// Whether a device's name, as programs list it, is that of an integrated GPU. AMD's driver calls
// cards that it has no name for "AMD Radeon Graphics" as well; a target that is listed with it
// ("gfx906") tells them apart.
bool names_integrated(std::string_view listed, const knowledge::GpuTables& tables);

// Adds to `pick` how to hide the integrated GPU from the job.
void advise_to_hide(const LogSubject& subject, const ListedDevices& devices, Hypothesis& pick);

// Finds an integrated GPU for which a library has no code, or on which a job crashed.
std::optional<Hypothesis> find_igpu_in_the_way(const LogSubject& subject);

// llama.cpp gave the integrated GPU a share of the model, and its server did not start. Nothing if
// rocminfo does not list both, or a mask hides it.
std::optional<Hypothesis> find_share_on_igpu(const LogSubject& subject);

// Finds the integrated GPU at work in the card's place: llama.cpp failed on it, or a program or
// ROCm names it alone.
std::optional<Hypothesis> find_failure_on_igpu(const LogSubject& subject);
std::optional<Hypothesis> find_slow_on_igpu(const LogSubject& subject);
// A program lists the integrated GPU as device 0 by its name, before the card, and then dies
// without a word at its first work.
std::optional<Hypothesis> find_crash_on_first_device(const LogSubject& subject);
std::optional<Hypothesis> find_igpu_alone(const LogSubject& subject);

// The GPU that a desktop processor has by its name: Ryzen 7000 and 9000 have a small one, unless
// the name ends in F.
std::optional<SceneGpu> implied_by_processor(const Scene& scene);

// KFD refuses the integrated GPU, by its address, and adds none.
std::optional<Hypothesis> find_igpu_refused_by_kfd(const LogSubject& subject);
// A program prints the integrated GPU's name as device 0, and nothing crashed.
std::optional<Hypothesis> find_igpu_as_first_device(const LogSubject& subject);
// A library spreads a model over all devices, and one of them has no kernels.
std::optional<Hypothesis> find_share_without_kernels(const LogSubject& subject);

}  // namespace headroom::findings
