/* rec_compat.h - pthreads and dlopen under the symbol versions that older
 * glibcs also have; the clock.
 *
 * glibc 2.34 moved these functions into libc under a new version. A library
 * that is built there would not load in a container with an older glibc. The
 * old versions still exist and are the same functions.
 */
#ifndef JP_REC_COMPAT_H
#define JP_REC_COMPAT_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define JP_REC_INTERCEPTED 1 /* a sanitizer intercepts them by name only */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define JP_REC_INTERCEPTED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(JP_REC_INTERCEPTED)
#if defined(__x86_64__)
#define JP_REC_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define JP_REC_GLIBC "GLIBC_2.17"
#endif
#endif

#ifdef JP_REC_GLIBC
#define JP_REC_OLD(name) __asm__(".symver " #name "," #name "@" JP_REC_GLIBC)
JP_REC_OLD(pthread_create);
JP_REC_OLD(pthread_key_create);
JP_REC_OLD(pthread_setspecific);
JP_REC_OLD(dlopen);
JP_REC_OLD(dlsym);
JP_REC_OLD(dlclose);
JP_REC_OLD(dladdr);
#endif

/* --- the clock of all host times ----------------------------------------- */

static inline uint64_t rec_clock_of(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t) ts.tv_sec * 1000000000U + (uint64_t) ts.tv_nsec;
}

static inline uint64_t rec_clock_ns(void)
{
    return rec_clock_of(CLOCK_MONOTONIC);
}

#endif
