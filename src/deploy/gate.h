// SPDX-License-Identifier: Apache-2.0
// The gate: whether this machine and the configuration as it would become can work at all, asked
// before anything is touched. What was not known beforehand does not refuse; later steps measure
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "deploy/edit.h"
#include "deploy/spec.h"
#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"

namespace headroom::deploy {

// One question of the gate and its answer.
struct GateCheck {
  enum class Answer : std::uint8_t { passed, refused, unknown };
  std::string name;  // "GPU", "memory", "disk", "devices", "stack".
  Answer answer = Answer::passed;
  std::string says;                      // One sentence.
  std::optional<findings::Cause> cause;  // Where it refuses.
};

struct Gate {
  std::vector<GateCheck> checks;  // In the order in which they were asked.

  // The first refusal; nullptr if there is none.
  const GateCheck* refusal() const;
};

// Free room of a file system that the deployment writes to.
struct Room {
  std::string path;
  std::optional<Bytes> free;
  Bytes needed;
};

// Whether the service's user may open a device that it is given.
struct DeviceAccess {
  std::string device;  // "/dev/kfd".
  std::optional<bool> may_open;
  std::string why;  // "crw-rw---- root render, and user photos is not in group render".
};

// What the gate is told besides the machine's facts.
struct GateInput {
  const ServiceSpec& spec;
  const facts::Facts& facts;
  const findings::Diagnosis& diagnosis;
  const knowledge::GpuTables& tables;
  std::optional<Settings> candidate;    // As the files will say; nothing where they do not tell.
  std::optional<Bytes> predicted_host;  // Of the job that expect.job names.
  std::optional<Bytes> predicted_device;
  std::optional<Bytes> memory_limit;  // In force on the service now, if the files name none.
  std::optional<Bytes> present_use;   // Of the service as it runs: it is freed by the stop.
  std::vector<Room> rooms;
  std::vector<DeviceAccess> devices;
  std::vector<std::string> missing_devices;  // That the changed service is given.
  std::vector<std::string> unread_bases;     // That it extends, and may have devices from.
};

Gate judge_gate(const GateInput& input);

}  // namespace headroom::deploy
