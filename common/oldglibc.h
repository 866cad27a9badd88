/* oldglibc.h - pthreads and dlopen under the symbol versions that older glibcs
 * also have.
 *
 * For libraries that are loaded into programs of others. glibc 2.34 moved these
 * functions into libc under a new version, so a library that is built there
 * would not load in a container with an older glibc. The old versions still
 * exist and are the same functions. To be included before any use of them.
 */
#ifndef JP_OLDGLIBC_H
#define JP_OLDGLIBC_H

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define JP_INTERCEPTED 1 /* a sanitizer intercepts them by name only */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define JP_INTERCEPTED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(JP_INTERCEPTED)
#if defined(__x86_64__)
#define JP_OLD_GLIBC "GLIBC_2.2.5"
#define JP_OLD_SETCLOCK "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define JP_OLD_GLIBC "GLIBC_2.17"
#define JP_OLD_SETCLOCK "GLIBC_2.17"
#endif
#endif

#ifdef JP_OLD_GLIBC
#define JP_OLD(name, version) __asm__(".symver " #name "," #name "@" version)
JP_OLD(pthread_create, JP_OLD_GLIBC);
JP_OLD(pthread_key_create, JP_OLD_GLIBC);
JP_OLD(pthread_setspecific, JP_OLD_GLIBC);
JP_OLD(pthread_sigmask, JP_OLD_GLIBC);
JP_OLD(pthread_condattr_setclock, JP_OLD_SETCLOCK);
JP_OLD(dlopen, JP_OLD_GLIBC);
JP_OLD(dlsym, JP_OLD_GLIBC);
JP_OLD(dlclose, JP_OLD_GLIBC);
JP_OLD(dladdr, JP_OLD_GLIBC);
JP_OLD(dlerror, JP_OLD_GLIBC);
#endif

#endif
