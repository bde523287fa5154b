// SPDX-License-Identifier: Apache-2.0
// What the kernel says from now on: GPU resets and page faults, out-of-memory kills, crashes.
// /dev/kmsg as the kernel's Documentation/ABI/testing/dev-kmsg describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::machine {

struct KernelMessage {
  std::uint64_t monotonic_us = 0;  // On the kernel's clock; in a virtual machine its own.
  std::string text;
};

// "6,339,5140900,-;NET: Registered protocol" and lines that describe it; escapes undone. Returns
// false for what is no record of the kernel, such as what a program wrote to /dev/kmsg.
bool parse_kernel_record(std::string_view record, KernelMessage& message);

// One thread.
class KernelMessages {
 public:
  // Fails with no_permission where only root may read them (kernel.dmesg_restrict), and with
  // not_found in a container without /dev/kmsg.
  static Result<KernelMessages> open();

  // Becomes readable when there is a new one, which may be from a program.
  int descriptor() const { return file_.get(); }
  // Those since the last call, at most a thousand; what the kernel had to overwrite is skipped.
  std::vector<KernelMessage> next();
  // "[ 5140.900000] NET: Registered protocol", as dmesg(1) prints it.
  static std::string to_line(const KernelMessage& message);

 private:
  explicit KernelMessages(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace headroom::machine
