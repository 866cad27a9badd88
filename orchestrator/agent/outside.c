/* outside.c - what a process outside of the job's cgroups may not do: obey a
 * variable of the job, be entered by a debugger, run a program. */
#include "config.h"

#include "orchestrator/agent/agent.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/outside.h"

#define ROW(name, value, who, why) {name, value, who, why},
const struct outside_variable outside_variables[] = {JP_OUTSIDE_VARIABLES(ROW)};
#undef ROW
const size_t n_outside_variables = sizeof(outside_variables) /
                                   sizeof(*outside_variables);

/* The new environment is static: it is needed until the process ends. */
int outside_begin(struct jp_error *err)
{
    static char
        *fresh[sizeof(outside_variables) / sizeof(*outside_variables) + 1];
    size_t n = 0;

    /* first, because until then other processes of the user may enter */
    prctl(PR_SET_DUMPABLE, 0);
    for (size_t i = 0; i < n_outside_variables; i++) {
        const struct outside_variable *row = &outside_variables[i];
        const char *value = row->value ? row->value : getenv(row->name);

        if (!value)
            continue;
        fresh[n] = text_format("%s=%s", row->name, value);
        if (!fresh[n++])
            return error_set(err, "out of memory");
    }
    fresh[n] = NULL;
    environ = fresh;
    return 0;
}

/* --- no programs --------------------------------------------------------- */

#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW /* Linux 4.17 */
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW (1UL << 2)
#endif

/* The numbers of system calls depend on the architecture, so calls of another
 * one (32 bit on x86_64) are refused as a whole. 0: not known here. */
#if defined(__x86_64__) && defined(__LP64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__s390x__)
#define ARCHITECTURE AUDIT_ARCH_S390X
#else
#define ARCHITECTURE 0
#endif

/* From this number on, x86_64 has a second set of calls (x32). Other
 * architectures have no call there. */
#define FIRST_X32 0x40000000u

int outside_forbid_programs(struct jp_error *err)
{
    const unsigned refuse = SECCOMP_RET_ERRNO | EPERM;
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, refuse),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_X32, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execve, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execveat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, refuse),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(lines) / sizeof(*lines), lines};

    if (!ARCHITECTURE)
        return error_set(err, "the start of programs cannot be forbidden on "
                              "this architecture");
    /* Without the flag, kernels before 5.16 make all memory accesses of the
     * process slower (a mitigation against Spectre). */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                 SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) < 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0))
        return error_set(err, "the start of programs cannot be forbidden: %s",
                         strerror(errno));
    return 0;
}
