/* loadlib.c - a library that is loaded at run time, and its functions. */
#include "common/loadlib.h"

#include <dlfcn.h>
#include <string.h>

const char *loadlib_open(void *lib, const char *const names[],
                         const struct loadlib_function functions[])
{
    void *handle = NULL;

    /* RTLD_NOW: a library with missing symbols fails here, not later in a call.
     */
    for (size_t i = 0; names[i] && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    memcpy(lib, &handle, sizeof(handle));
    if (!handle)
        return "";
    for (const struct loadlib_function *f = functions; f->names[0]; f++) {
        void *found = dlsym(handle, f->names[0]);

        /* an older release */
        if (!found && f->names[1])
            found = dlsym(handle, f->names[1]);
        /* the caller reports the name */
        if (!found && f->needed)
            return f->names[0];
        /* ISO C does not convert void * to a function pointer: copy it */
        memcpy((char *) lib + f->where, &found, sizeof(found));
    }
    return NULL;
}

void loadlib_close(void *lib)
{
    void *handle;

    memcpy(&handle, lib, sizeof(handle));
    if (handle)
        dlclose(handle);
    memset(lib, 0, sizeof(handle));
}
