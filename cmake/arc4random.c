/* SPDX-License-Identifier: Apache-2.0
   Debian 12's archives of libstdc++ (std::random_device, which headroom does not use) and of libevent ask for arc4random and
   arc4random_buf, which came with glibc 2.36; the packages run with 2.35. */
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) void arc4random_buf(void *buffer, size_t size) {
  unsigned char *next = buffer;
  while (size > 0) {
    const ssize_t count = getrandom(next, size, 0);
    if (count <= 0) continue; /* A signal came first. */
    next += count;
    size -= (size_t)count;
  }
}

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t number;
  arc4random_buf(&number, sizeof number);
  return number;
}
