// SPDX-License-Identifier: Apache-2.0
// A library opened at run time, and its functions by name: GPU drivers are there on some machines,
// and are never linked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::allocator {

// Stays open until the process ends: drivers keep threads of their own.
class SharedLibrary {
 public:
  // The first of `names` that this process has loaded already, because two copies of a driver in
  // one process do not share their state; else the first that is found. Fails with unsupported and
  // what the loader said of the last one.
  static Result<SharedLibrary> open(std::span<const char* const> names);

  // Looks one function up and notes its name if it is missing.
  template <class Function>
  void find(Function*& function, const char* name) {
    // The conversion that POSIX promises for what dlsym returns.
    function = reinterpret_cast<Function*>(address_of(name));
    if (function == nullptr) missing_.emplace_back(name);
  }

  // Fails with unsupported and every name that find() missed so far.
  Status check_complete() const;

 private:
  SharedLibrary(void* library, std::string name) : library_(library), name_(std::move(name)) {}
  void* address_of(const char* name) const;

  void* library_;
  std::string name_;
  std::vector<std::string> missing_;
};

}  // namespace headroom::allocator
