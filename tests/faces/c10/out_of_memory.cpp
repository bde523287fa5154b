// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "faces/c10/c10.h"

#ifndef FAKE_C10_OLD
namespace c10 {
OutOfMemoryError::OutOfMemoryError(SourceLocation where, std::string text)
    : Error(where, std::move(text)) {}
}  // namespace c10
#endif

char fake_c10_try(void* (*slot)(std::size_t, int, void*), std::size_t bytes, char* text,
                  std::size_t size) {
  try {
    // No slot: as PyTorch throws it, so that a library of the old kind has its virtual table.
    if (slot == nullptr) throw c10::OutOfMemoryError({"here", "here", 1}, "PyTorch's own");
    slot(bytes, 0, nullptr);
    return 'b';
  } catch (const c10::OutOfMemoryError& error) {
    std::strncpy(text, error.what(), size - 1);
    return 'm';
  } catch (const std::exception& error) {
    std::strncpy(text, error.what(), size - 1);
    return 'e';
  }
}
