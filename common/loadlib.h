/* loadlib.h - a library that is loaded at run time, and its functions.
 *
 * A struct has a handle as its first member, and a pointer for each function.
 * A table says which function goes to which member:
 *
 *     struct demo_lib {
 *         void *handle;
 *         int (*init)(void);
 *     };
 *     static const struct loadlib_function functions[] = {
 *         {{"demo_init_v2", "demo_init"}, offsetof(struct demo_lib, init),
 * true},
 *         {{NULL}},
 *     };
 */
#ifndef JP_COMMON_LOADLIB_H
#define JP_COMMON_LOADLIB_H

#include <stdbool.h>
#include <stddef.h>

struct loadlib_function {
    const char *names[2]; /* the newest first, then an older one with the same
                             signature or NULL; both NULL: end of the table */
    size_t where;         /* of the pointer, in the struct */
    bool needed;          /* without it the library is not used */
};

/* Loads the first library of a list of paths or names for dlopen() that ends
 * with NULL, and finds the functions; those that it does not have become NULL.
 * lib: a struct as above, whatever it holds. Returns NULL if all needed
 * functions are there; else the name of the first one that is missing, or "" if
 * no library can be loaded (dlerror() says why). Call loadlib_close in any
 * case. */
const char *loadlib_open(void *lib, const char *const names[],
                         const struct loadlib_function functions[]);

/* Closes the library, if it was loaded. Its functions must not be called any
 * more. */
void loadlib_close(void *lib);

#endif
