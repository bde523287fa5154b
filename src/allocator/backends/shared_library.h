// SPDX-License-Identifier: Apache-2.0
// A library that is loaded at run time, and its functions by name. GPU drivers exist only on some
// machines, so they are never linked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::allocator {

// The library stays loaded until the process ends, because drivers keep threads of their own.
class SharedLibrary {
 public:
  // Opens the first of `names` that this process has loaded already, because two copies of a driver
  // in one process do not share their state; else the first that is found. Fails with unsupported
  // and the loader's message for the last name.
  static Result<SharedLibrary> open(std::span<const char* const> names);

  // Looks up one function, and notes its name if it is missing.
  template <class Function>
  void find(Function*& function, const char* name) {
    // POSIX guarantees this conversion for what dlsym returns.
    function = reinterpret_cast<Function*>(address_of(name));
    if (function == nullptr) missing_.emplace_back(name);
  }

  // Fails with unsupported if find() missed any function so far, and names all of them.
  Status check_complete() const;

 private:
  SharedLibrary(void* library, std::string name) : library_(library), name_(std::move(name)) {}
  void* address_of(const char* name) const;

  void* library_;
  std::string name_;
  std::vector<std::string> missing_;
};

}  // namespace headroom::allocator
