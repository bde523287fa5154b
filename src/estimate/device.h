// SPDX-License-Identifier: Apache-2.0
// What the planner has to know of the device a job will run on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "estimate/job.h"
#include "knowledge/cards.h"

namespace headroom::estimate {

// What a card can do at most; makers' figures, which only put settings in order.
struct Rates {
  double half_flops = 0;  // A second, of dense products; 0: not known.
  double single_flops = 0;
  double bytes = 0;  // A second.
};

struct Device {
  std::optional<Bytes> capacity;  // Of the whole device, before the context.
  Bytes held;                     // What others hold of it now, on top of the capacity.
  Bytes context;                  // What the driver takes for a process before its first tensor.
  Bytes blas_workspace;           // Per handle; PyTorch makes one for forward and one for backward.
  std::uint64_t resident_threads = 0;  // That run at once; 0: not known.
  knowledge::Vendor vendor = knowledge::Vendor::amd;
  Attention attention = Attention::flash;  // The best kernel it has.
  DType half = DType::bf16;                // The half type that it computes in.
  Rates rates;
  std::vector<std::string> notes;  // What was assumed of it, in words a person can judge.
};

// A GPU of this machine, as its memory ladder shows it.
struct PresentGpu {
  std::string name;    // "Radeon RX 7900 XT"
  std::string target;  // "gfx1100"
  std::string rung;    // The one that binds: "vram", "ttm", …
  Bytes limit;         // Of that rung.
  Bytes held;          // Of it, by others.
};

// Whether no ROCm ever supported its target. find_device() says so in the first note then.
bool was_never_supported(const PresentGpu& gpu);

// The device the job names: by capacity, by the name of a card in the knowledge tables, the GPU of
// this machine ("auto", which needs `present`), or nothing. A capacity that only cards of one
// vendor show tells the vendor; AMD's context and workspaces are taken otherwise. The headroom
// engine's device is the capacity and nothing else. A name that the tables lack is an error that
// lists the nearest ones.
Result<Device> find_device(const Job& job, const std::optional<PresentGpu>& present = std::nullopt);

// The same of a card, as if the job had named it.
Result<Device> device_of(const Job& job, const knowledge::Card& card);

// The kernel that the job asks for, or else the best that the device has. FlashAttention has none
// for fp32.
Attention attention_for(const Job& job, const Device& device);

// Whether PyTorch has that kernel on the device; those made of plain operations run everywhere.
bool has_kernel(const Device& device, Attention attention);

}  // namespace headroom::estimate
