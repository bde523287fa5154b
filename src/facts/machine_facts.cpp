// SPDX-License-Identifier: Apache-2.0
#include "facts/machine_facts.h"

namespace headroom::facts {

const ModuleOption* MachineFacts::option(std::string_view module, std::string_view key) const {
  const ModuleOption* last = nullptr;
  for (const ModuleOption& option : options) {
    if (option.module == module && option.key == key) last = &option;
  }
  return last;
}

const InitramfsCopy* MachineFacts::initramfs_copy(std::string_view file) const {
  for (const InitramfsCopy& copy : initramfs_copies) {
    if (copy.file == file) return &copy;
  }
  return nullptr;
}

const Text* MachineFacts::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? nullptr : &found->second;
}

}  // namespace headroom::facts
