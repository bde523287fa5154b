// SPDX-License-Identifier: Apache-2.0
// The functions of a library that was opened at run time, looked up until one is missing.
#pragma once

#include <dlfcn.h>

#include <string>

namespace headroom::machine {

class Symbols {
 public:
  // `library` is what dlopen(3) returned; not owned.
  explicit Symbols(void* library) : library_(library) {}
  template <class Function>
  void find(Function*& function, const char* name) {
    // The conversion that POSIX promises for what dlsym returns.
    function = reinterpret_cast<Function*>(::dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  // The first that the library lacks; empty if it has all.
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace headroom::machine
