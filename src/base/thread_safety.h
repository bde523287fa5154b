// SPDX-License-Identifier: Apache-2.0
// Words in which a declaration says which lock protects it. clang checks them without running
// anything (-Wthread-safety, part of ./dev lint); for other compilers they are empty. base/mutex.h
// has the locks that they name. What each means: clang's documentation, "Thread Safety Analysis".
#pragma once

#if defined(__clang__)
#define HEADROOM_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define HEADROOM_THREAD_SAFETY(attribute)
#endif

// Of a member: it is read and written only while that lock is held. POINTEE: what it points to is.
#define HEADROOM_GUARDED_BY(lock) HEADROOM_THREAD_SAFETY(guarded_by(lock))
#define HEADROOM_POINTEE_GUARDED_BY(lock) HEADROOM_THREAD_SAFETY(pt_guarded_by(lock))

// Of a function, or of a lambda behind its parameters: its caller holds the lock, or does not hold
// it because the function takes it.
#define HEADROOM_REQUIRES(...) HEADROOM_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define HEADROOM_EXCLUDES(...) HEADROOM_THREAD_SAFETY(locks_excluded(__VA_ARGS__))

// Of a function that returns a reference to the lock.
#define HEADROOM_RETURNS_LOCK(lock) HEADROOM_THREAD_SAFETY(lock_returned(lock))

// Of classes that are locks or hold one for a scope, and of their functions: base/mutex.h.
#define HEADROOM_LOCK_CLASS HEADROOM_THREAD_SAFETY(capability("mutex"))
#define HEADROOM_SCOPED_LOCK_CLASS HEADROOM_THREAD_SAFETY(scoped_lockable)
#define HEADROOM_ACQUIRES(...) HEADROOM_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define HEADROOM_TRIES_TO_ACQUIRE(...) HEADROOM_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
#define HEADROOM_RELEASES(...) HEADROOM_THREAD_SAFETY(release_capability(__VA_ARGS__))
