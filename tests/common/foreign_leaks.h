/* foreign_leaks.h - leaks of other libraries, which LeakSanitizer ignores.
 *
 * Include it in one file of a test program. Libraries are named, not their
 * functions, because without a symbolizer LeakSanitizer knows no functions. The
 * symbol must be visible: gcc's sanitizer is a shared library and looks it
 * up.
 */
#ifndef JP_TESTS_FOREIGN_LEAKS_H
#define JP_TESTS_FOREIGN_LEAKS_H

const char *__lsan_default_suppressions(void);

__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void)
{
    return "leak:libconfig.so\n" /* 1.5: a string before a syntax error */
           "leak:libslurm.so\n"; /* 22.05: a reversed range, n[5-2] */
}

#endif
