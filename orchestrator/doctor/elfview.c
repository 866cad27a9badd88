/* elfview.c - what a shared library exports, read without loading it.
 *
 * elfview_open reads the section headers, then the dynamic symbols and .rodata.
 * The file may be anything: each offset, count and length is compared with the
 * size of the file before it is used, and tables end with a NUL, so that names
 * cannot run beyond them.
 */
#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"

/* Limits of what is read into memory. */
#define SECTIONS_MAX 4096
#define SEGMENTS_MAX 256
#define TABLE_MAX_BYTES (UINT64_C(64) << 20)

/* Reads len bytes at offset. -1: the file is shorter, or cannot be read. */
static int read_at(const struct elfview *v, uint64_t offset, void *buf,
                   size_t len)
{
    char *to = buf;

    if (offset > v->bytes || len > v->bytes - offset)
        return -1;
    while (len > 0) {
        ssize_t n = pread(v->fd, to, len, (off_t) offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        to += n;
        offset += (uint64_t) n;
        len -= (size_t) n;
    }
    return 0;
}

/* Reads a table of n items of size bytes, and adds a NUL. Caller frees. NULL:
 * it is not in the file, too large, or no memory. */
static void *read_table(const struct elfview *v, uint64_t offset, uint64_t n,
                        size_t size)
{
    uint64_t len = n * size;
    char *table;

    /* The first comparison makes sure that n * size has not overflowed. */
    if (n > TABLE_MAX_BYTES / size || offset > v->bytes ||
        len > v->bytes - offset)
        return NULL;
    table = malloc((size_t) len + 1);
    if (table && read_at(v, offset, table, (size_t) len) < 0) {
        free(table);
        return NULL;
    }
    if (table)
        table[len] = '\0';
    return table;
}

/* Whether the header is that of a 64-bit little-endian ELF file. */
static bool is_ours(const Elf64_Ehdr *head)
{
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
           head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_ident[EI_DATA] == ELFDATA2LSB &&
           head->e_shentsize == sizeof(Elf64_Shdr) &&
           head->e_phentsize == sizeof(Elf64_Phdr);
}

/* Whether the string at offset `at` of a table is name. */
static bool is_named(const char *strings, uint64_t len, uint32_t at,
                     const char *name)
{
    return at < len && strcmp(strings + at, name) == 0;
}

/* Reads .rodata, if there is one of a sane size. strings: index of the table
 * with the sections' names. */
static void read_constants(struct elfview *v, const Elf64_Shdr *sections,
                           size_t n, size_t strings)
{
    char *names;

    /* The index is from the file. */
    if (strings >= n)
        return;
    names = read_table(v, sections[strings].sh_offset,
                       sections[strings].sh_size, 1);
    for (size_t i = 0; names && i < n && !v->constants; i++) {
        if (sections[i].sh_type != SHT_PROGBITS ||
            !is_named(names, sections[strings].sh_size, sections[i].sh_name,
                      ".rodata"))
            continue;
        v->constants =
            read_table(v, sections[i].sh_offset, sections[i].sh_size, 1);
        v->constants_len = v->constants ? (size_t) sections[i].sh_size : 0;
    }
    free(names);
}

/* Reads the dynamic symbols and their names, from the first section of that
 * type. */
static int read_symbols(struct elfview *v, const Elf64_Shdr *sections, size_t n)
{
    const Elf64_Shdr *strings;

    for (size_t i = 0; i < n; i++) {
        if (sections[i].sh_type != SHT_DYNSYM || sections[i].sh_link >= n)
            continue;
        strings = &sections[sections[i].sh_link];
        v->n_symbols = (size_t) (sections[i].sh_size / sizeof(Elf64_Sym));
        v->symbols = read_table(v, sections[i].sh_offset, v->n_symbols,
                                sizeof(Elf64_Sym));
        v->names = read_table(v, strings->sh_offset, strings->sh_size, 1);
        v->names_len = (size_t) strings->sh_size;
        return v->symbols && v->names ? 0 : -1;
    }
    return -1;
}

/* Reads all tables of the file. What was allocated is freed by elfview_close,
 * even on failure. */
static int read_all(struct elfview *v, const char *name, struct jp_error *err)
{
    Elf64_Ehdr head;
    Elf64_Shdr *sections;
    int rc = -1;

    if (read_at(v, 0, &head, sizeof(head)) < 0 || !is_ours(&head))
        return error_set(err, "%s: not a 64-bit shared library", name);
    /* e_shnum is 0 if there are more than 65,279 sections, which no library
     * has. */
    if (head.e_shnum == 0 || head.e_shnum > SECTIONS_MAX ||
        head.e_phnum > SEGMENTS_MAX)
        return error_set(err, "%s: no section table", name);
    sections = read_table(v, head.e_shoff, head.e_shnum, sizeof(*sections));
    v->segments =
        read_table(v, head.e_phoff, head.e_phnum, sizeof(*v->segments));
    v->n_segments = head.e_phnum;
    if (!sections || !v->segments)
        error_set(err, "%s: truncated", name);
    else if (read_symbols(v, sections, head.e_shnum) < 0)
        error_set(err, "%s: no dynamic symbols", name);
    else
        rc = 0;
    if (rc == 0)
        read_constants(v, sections, head.e_shnum, head.e_shstrndx);
    free(sections);
    return rc;
}

/* On failure, the descriptor stays with the caller. */
int elfview_open_fd(int fd, const char *name, struct elfview *out,
                    struct jp_error *err)
{
    struct elfview v = {.fd = fd};
    struct stat st;

    if (fstat(fd, &st) < 0 || st.st_size < 0)
        return error_set(err, "%s: %s", name, strerror(errno));
    v.bytes = (uint64_t) st.st_size;
    if (read_all(&v, name, err) < 0) {
        v.fd = -1; /* still the caller's */
        elfview_close(&v);
        return -1;
    }
    *out = v;
    return 0;
}

int elfview_open(const char *path, struct elfview *out, struct jp_error *err)
{
    int fd = fileio_open_regular(path, true, err);

    if (fd < 0)
        return -1;
    if (elfview_open_fd(fd, path, out, err) < 0) {
        close(fd);
        return -1;
    }
    return 0;
}

void elfview_close(struct elfview *view)
{
    if (!view)
        return;
    if (view->fd >= 0)
        close(view->fd);
    free(view->segments);
    free(view->symbols);
    free(view->names);
    free(view->constants);
    *view = (struct elfview){.fd = -1};
}

/* The symbol that the file defines under that name, or NULL. */
static const Elf64_Sym *find_symbol(const struct elfview *v, const char *name)
{
    for (size_t i = 0; i < v->n_symbols; i++)
        if (v->symbols[i].st_shndx != SHN_UNDEF &&
            is_named(v->names, v->names_len, v->symbols[i].st_name, name))
            return &v->symbols[i];
    return NULL;
}

bool elfview_exports(const struct elfview *view, const char *name)
{
    return find_symbol(view, name) != NULL;
}

int elfview_number(const struct elfview *view, const char *name,
                   uint32_t *value, struct jp_error *err)
{
    const Elf64_Sym *symbol = find_symbol(view, name);
    uint64_t at = symbol ? symbol->st_value : 0;

    if (!symbol || symbol->st_size < sizeof(*value))
        return error_set(err, "it exports no %s", name);
    for (size_t i = 0; i < view->n_segments; i++) {
        const Elf64_Phdr *s = &view->segments[i];

        /* The symbol's value is an address; find the segment that is loaded
         * there, and its place in the file. */
        if (s->p_type == PT_LOAD && at >= s->p_vaddr &&
            at - s->p_vaddr < s->p_filesz &&
            read_at(view, s->p_offset + (at - s->p_vaddr), value,
                    sizeof(*value)) == 0)
            return 0;
    }
    return error_set(err, "its %s lies outside the file", name);
}

/* The first constant string that starts with text, or NULL. Strings start at
 * the section's start or after a NUL. */
static const char *find_text(const struct elfview *v, const char *text)
{
    const char *at = v->constants, *end = at ? at + v->constants_len : at;
    size_t len = strlen(text);

    while (at && (at = memmem(at, (size_t) (end - at), text, len))) {
        if (at == v->constants || at[-1] == '\0')
            return at;
        at++;
    }
    return NULL;
}

bool elfview_has_text(const struct elfview *view, const char *text)
{
    const char *at = view->constants, *end = at ? at + view->constants_len : at;
    /* With its NUL, so that the whole string must be equal. */
    size_t len = strlen(text) + 1;

    /* A string starts at the section's start or after a NUL. */
    while (at && (at = memmem(at, (size_t) (end - at), text, len))) {
        if (at == view->constants || at[-1] == '\0')
            return true;
        at++;
    }
    return false;
}

const char *elfview_after(const struct elfview *view, const char *start)
{
    const char *at = find_text(view, start);

    return at ? at + strlen(start) : NULL;
}
