// SPDX-License-Identifier: Apache-2.0
#include "faces/hip/process.h"

#include <pthread.h>

namespace headroom::hip_face {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): fork's handlers take nothing.
std::atomic<Process*> made_process = nullptr;

// The child of a fork() must not find the lock of a thread that it does not have.
void before_fork() HEADROOM_THREAD_SAFETY(no_thread_safety_analysis) {
  if (Process* const all = made_process) all->blocks.lock();
}
void after_fork_in_parent() HEADROOM_THREAD_SAFETY(no_thread_safety_analysis) {
  if (Process* const all = made_process) all->blocks.unlock();
}
void after_fork_in_child() {
  after_fork_in_parent();
  if (Process* const all = made_process) all->is_child = true;
}

}  // namespace

Process::Process() {
  made_process = this;
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

Process& process() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const made = new Process;
  return *made;
}

Counts& counts() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const made = new Counts;
  return *made;
}

Thread& this_thread() {
  thread_local Thread state;
  return state;
}

int noted(int code) {
  if (code != success) this_thread().error = code;
  return code;
}

headroom_allocator* allocator_for(Process& all, int* device) {
  static const bool is_left_to_torch = has_torch_library();
  if (is_left_to_torch || all.is_child || this_thread().inside || !all.runtime.is_usable())
    return nullptr;
  const Inside inside;
  if (all.runtime.get_device(device) != success) return nullptr;
  headroom_allocator* const allocator = all.gpus.ready(*device);
  if (allocator != nullptr) all.host_route.ready(all.runtime, *device);
  return allocator;
}

}  // namespace headroom::hip_face
