// SPDX-License-Identifier: Apache-2.0
// As much of PyTorch's c10 as an exception needs, under its own names (pytorch/pytorch:
// c10/util/Exception.h), so that what is looked up by name can be tried without PyTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#define EXPORTED __attribute__((visibility("default")))

namespace c10 {

struct SourceLocation {
  const char* function;
  const char* file;
  std::uint32_t line;
};

class EXPORTED Error : public std::exception {
 public:
  Error(SourceLocation where, std::string text);
  ~Error() override;
  const char* what() const noexcept override;

 private:
  std::string text_;
  std::vector<std::string> context_;
};

class EXPORTED OutOfMemoryError : public Error {
#ifdef FAKE_C10_OLD  // As up to 2.4: everything is inline.
  using Error::Error;
#else
 public:
  OutOfMemoryError(SourceLocation where, std::string text);
#endif
};

}  // namespace c10

extern "C" {

// How many c10::Error there are.
EXPORTED int fake_c10_alive();
// Allocates by the slot and returns what came of it: 'b' a block, 'm' c10::OutOfMemoryError, 'e'
// another exception. What it says goes to `text`.
EXPORTED char fake_c10_try(void* (*slot)(std::size_t, int, void*), std::size_t bytes, char* text,
                           std::size_t size);
}
