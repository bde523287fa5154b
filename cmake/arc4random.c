/* SPDX-License-Identifier: Apache-2.0
   Debian 12's archive of libstdc++ asks for arc4random, which came with glibc 2.36; the packages run with 2.35. Its
   std::random_device is linked with the library's strings, though headroom does not use it. */
#include <stdint.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t number;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
  }
  return number;
}
