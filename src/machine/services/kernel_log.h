// SPDX-License-Identifier: Apache-2.0
// What the kernel of this system says from now on (/dev/kmsg: the kernel's
// Documentation/ABI/testing/dev-kmsg).
#pragma once

#include <string>

#include "machine/descriptor.h"

namespace headroom::machine {

// One thread.
class KernelLog {
 public:
  // Where this user may not read it, it says nothing, and is_readable() tells.
  KernelLog();
  bool is_readable() const { return file_.get() >= 0; }
  // The new lines, as dmesg prints them: "[ 2743.942606] amdgpu: …".
  std::string read_new();

 private:
  Descriptor file_;
};

}  // namespace headroom::machine
