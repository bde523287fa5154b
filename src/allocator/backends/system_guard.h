// SPDX-License-Identifier: Apache-2.0
// Refuses memory that the desktop, the driver or the system will need (facts/guard.h). It asks for
// figures each time before more is taken of the device, so that it also counts what others took
// since.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allocator/backends/driver.h"
#include "allocator/budget.h"
#include "facts/guard.h"
#include "facts/memory_room.h"
#include "machine/files.h"

namespace headroom::allocator {

// Any thread may call any function, as far as the budget behind it allows it.
class SystemGuard final : public Budget {
 public:
  // What is left now, with what has to stay. What is not known is left out and refuses nothing.
  using Ask = std::function<std::vector<facts::MemoryRoom>()>;

  // `shared` is asked as well, after this one; it may be null, and outlives this object.
  SystemGuard(Ask ask, Budget* shared) : ask_(std::move(ask)), shared_(shared) {}

  Status take(std::uint64_t bytes) override;
  Status give_back(std::uint64_t bytes) override;
  // How many bytes take() would grant now, the shared budget apart; nothing where that is not
  // known.
  std::optional<std::uint64_t> left() const;
  // Of the shared budget; unsupported where there is none.
  Result<BudgetState> state() override;

 private:
  Ask ask_;
  Budget* shared_;
};

// Reads the pools of the GPU at `pci` ("0000:03:00.0") from /sys, and RAM from /proc. Where a guard
// is of every GPU, `count` asks its driver. Nothing where no guard is of this GPU.
using CountMemory = std::function<Result<MemoryInfo>()>;
SystemGuard::Ask watch_pools(const facts::GuardText& guards, const std::string& pci,
                             machine::Files files, CountMemory count);

}  // namespace headroom::allocator
