/* elfview.h - what a shared library exports, read without loading it.
 *
 * To load one means to run it; a library that is looked at may be anybody's.
 * Only 64-bit little-endian files with section headers are understood. Every
 * offset, count and length is checked against the file.
 */
#ifndef JP_DOCTOR_ELFVIEW_H
#define JP_DOCTOR_ELFVIEW_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct elfview {
    int fd;
    uint64_t bytes;
    Elf64_Phdr *segments;
    size_t n_segments;
    Elf64_Sym *symbols; /* of .dynsym */
    size_t n_symbols;
    char *names; /* its strings, NUL-terminated as a whole */
    size_t names_len;
    char *constants; /* .rodata, NUL-terminated as a whole; NULL: none */
    size_t constants_len;
};

/* Reads path's tables. On failure *out is unchanged; else elfview_close. */
int elfview_open(const char *path, struct elfview *out, struct jp_error *err);
/* The same from an open file, which is taken over on success; name is for
 * errors. */
int elfview_open_fd(int fd, const char *name, struct elfview *out,
                    struct jp_error *err);
void elfview_close(struct elfview *view);

/* Whether it defines that symbol for others. */
bool elfview_exports(const struct elfview *view, const char *name);

/* The number that an exported object holds in the file. */
int elfview_number(const struct elfview *view, const char *name,
                   uint32_t *value, struct jp_error *err);

/* Whether text is one of its constant strings. */
bool elfview_has_text(const struct elfview *view, const char *text);

/* What follows the first constant string that starts so, up to its end; NULL:
 * none. Borrowed. */
const char *elfview_after(const struct elfview *view, const char *start);

#endif
