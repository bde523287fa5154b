#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants mistakes about locks in small sources and sees the linter refuse each, and nothing else.
exit 77: clang-tidy is not installed, with the reason"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIDY = "clang-tidy-16"
# Without the other checks, which take most of the time; clang-tidy wants one of its own all the same.
ONLY_LOCKS = "--checks=-*,modernize-use-nullptr,clang-diagnostic-thread-safety*"
REPORTED = re.compile(r"planted\.cpp:(\d+):\d+: error: (.*) \[clang-diagnostic-thread-safety")

# A comment "refused: …" says what the linter must print for its line.
COUNTER = """\
#include "base/mutex.h"

class Counter {
 public:
  headroom::Mutex& mutex() const HEADROOM_RETURNS_LOCK(mutex_) { return mutex_; }
  void add() {
    const headroom::MutexLock lock(mutex_);
    add_locked();
  }
  void add_locked() HEADROOM_REQUIRES(mutex_) { ++count_; }
  int count() const {
    return count_;  // refused: reading variable 'count_' requires holding mutex 'mutex_'
  }
  int waited_count() {
    const headroom::MutexLock lock(mutex_);
    while (count_ == 0) changed_.wait(mutex_);
    return count_;
  }
  void wait() {
    changed_.wait(mutex_);  // refused: calling function 'wait' requires holding mutex 'mutex_'
  }

 private:
  mutable headroom::Mutex mutex_;
  headroom::ConditionVariable changed_;
  int count_ HEADROOM_GUARDED_BY(mutex_) = 0;
};

void add(Counter& c) {
  c.add();
  c.add_locked();  // refused: calling function 'add_locked' requires holding mutex 'c.mutex_'
}
void add_under_another_lock(Counter& c, Counter& other) {
  const headroom::MutexLock lock(other.mutex());
  c.add_locked();  // refused: calling function 'add_locked' requires holding mutex 'c.mutex_'
}
void lock_twice(Counter& c) {
  const headroom::MutexLock one(c.mutex());
  const headroom::MutexLock two(c.mutex());  // refused: acquiring mutex 'c.mutex_' that is already held
}
void add_if_free(Counter& c) {
  headroom::DeferredLock lock(c.mutex());
  if (lock.try_lock()) c.add_locked();
}
void add_though_taken(Counter& c) {
  headroom::DeferredLock lock(c.mutex());
  static_cast<void>(lock.try_lock());
  c.add_locked();  // refused: calling function 'add_locked' requires holding mutex 'c.mutex_'
}
"""
SHARD = """\
#include "allocator/headroom/shard.h"
using headroom::allocator::Shard;

template <class Visit>
void visit_locked(Shard& shard, Visit&& visit) {
  const headroom::MutexLock lock(shard.mutex());
  visit.operator()(shard);
}
template <class Visit>
void visit_unlocked(Shard& shard, Visit&& visit) {
  visit.operator()(shard);  // refused: requires holding mutex 'shard.mutex_'
}

void visit(Shard& one) {
  one.free(1);  // refused: calling function 'free' requires holding mutex 'one.mutex_'
  visit_locked(one, [](Shard& shard) HEADROOM_REQUIRES(shard.mutex()) { shard.free(1); });
  visit_unlocked(one, [](Shard& shard) HEADROOM_REQUIRES(shard.mutex()) { shard.free(1); });
  visit_locked(one, [](Shard& shard) {
    shard.free(1);  // refused: calling function 'free' requires holding mutex 'shard.mutex_'
  });
}
"""


def lint(text, *options):
    """clang-tidy's exit status, and what it says about locks as [(line, message)], by the repository's settings."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "planted.cpp")
        source.write_text(text)
        run = subprocess.run([TIDY, f"--config-file={ROOT / '.clang-tidy'}", "--quiet", *options, source, "--", "-std=c++20", f"-I{ROOT / 'src'}"],
                             capture_output=True, text=True)
    return run.returncode, [(int(line), message) for line, message in REPORTED.findall(run.stdout)]


class ThreadSafety(unittest.TestCase):
    def assert_refused_as_marked(self, text, *options):
        marked = [(number, line.split("// refused: ")[1]) for number, line in enumerate(text.splitlines(), 1) if "// refused: " in line]
        code, reported = lint(text, *options)
        self.assertNotEqual(code, 0)
        self.assertEqual([line for line, _ in marked], sorted(line for line, _ in reported), reported)
        for (_, expected), (_, found) in zip(marked, sorted(reported)):
            self.assertIn(expected, found)

    def test_mistakes_with_a_mutex_are_refused_by_the_settings_of_lint(self):
        self.assert_refused_as_marked(COUNTER)

    def test_a_source_that_keeps_to_its_locks_passes(self):
        kept = "\n".join(line for line in COUNTER.splitlines() if "// refused" not in line).replace("int count() const {\n", "int count() const {\n    return 0;\n")
        self.assertEqual(lint(kept, ONLY_LOCKS), (0, []))

    def test_the_allocators_shards_are_used_under_their_locks(self):
        self.assert_refused_as_marked(SHARD, ONLY_LOCKS)


if __name__ == "__main__":
    if shutil.which(TIDY) is None:
        print(f"skipped: {TIDY} is not installed; ./dev lint installs it")
        sys.exit(77)
    unittest.main()
