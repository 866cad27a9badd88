/* redirect.c - leads the CUDA runtime that is linked statically inside libnccl
 * to this library.
 *
 * libnccl.so.2 of NVIDIA keeps its symbols. In the memory of this process only,
 * each cuda... function that this library has too gets a jump at its begin. The
 * file is not touched, nor the driver's own check: the runtime inside is never
 * started. An NCCL that was linked with the shared runtime needs nothing of it,
 * as the loader finds this library by its name. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contrib/fakecuda/fakecuda.h"

/* jmp *0(%rip), followed by the address */
enum { JUMP_CODE = 6, JUMP_BYTES = JUMP_CODE + 8 };
static const char jump_code[JUMP_CODE] = "\xff\x25\0\0\0";

/* A library as it is loaded, and its file. */
struct library {
    const char *path;
    uintptr_t base;
    char *file; /* mapped */
    size_t bytes;
};

struct search {
    const char *path;
    struct library *out;
};

static int find_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;

    (void) size;
    if (!strstr(info->dlpi_name, search->path))
        return 0;
    search->out->path = info->dlpi_name;
    search->out->base = info->dlpi_addr;
    return 1;
}

static int map_file(struct library *lib)
{
    int fd = open(lib->path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    int rc = -1;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        lib->bytes = (size_t) st.st_size;
        lib->file = mmap(NULL, lib->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        rc = lib->file == MAP_FAILED ? -1 : 0;
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Writes a jump over the first bytes of a function. */
static int write_jump(char *at, const void *to)
{
    uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t) at / page * page;
    size_t bytes = (uintptr_t) at + JUMP_BYTES - from;

    if (mprotect((void *) from, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        return -1;
    memcpy(at, jump_code, JUMP_CODE);
    memcpy(at + JUMP_CODE, &to, sizeof(to));
    return mprotect((void *) from, bytes, PROT_READ | PROT_EXEC);
}

/* What the symbols of the library are used for. */
struct symbols {
    void *self; /* this library */
    int n_led, n_left;
    const int *rows; /* NCCL's table of functions */
    size_t n_rows;
};

static int use_symbol(struct symbols *s, char *at, const char *name,
                      const Elf64_Sym *symbol)
{
    void *ours;

    if (strcmp(name, "ncclDevFuncRowToId") == 0) {
        s->rows = (const int *) at;
        s->n_rows = symbol->st_size / sizeof(int);
    }
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
        symbol->st_shndx == SHN_UNDEF || strncmp(name, "cuda", 4) != 0 ||
        symbol->st_size < JUMP_BYTES)
        return 0;
    ours = dlsym(s->self, name);
    if (!ours) {
        s->n_left++;
        return 0;
    }
    s->n_led++;
    return write_jump(at, ours);
}

/* Reads the table of all symbols, which a stripped library does not have. */
static int use_symbols(const struct library *lib, struct symbols *s)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *) lib->file;
    const Elf64_Shdr *sections =
        (const Elf64_Shdr *) (lib->file + head->e_shoff);
    int i;

    for (i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *table = &sections[i];
        const Elf64_Sym *symbol =
            (const Elf64_Sym *) (lib->file + table->sh_offset);
        const char *names = lib->file + sections[table->sh_link].sh_offset;
        size_t k;

        if (table->sh_type != SHT_SYMTAB)
            continue;
        for (k = 0; k < table->sh_size / sizeof(*symbol); k++) {
            if (use_symbol(s, (char *) lib->base + symbol[k].st_value,
                           names + symbol[k].st_name, &symbol[k]) < 0)
                return -1;
        }
    }
    return 0;
}

int fakecuda_lead(const char *nccl, int version, const char **why)
{
    struct library lib = {.path = NULL};
    struct search search = {.path = nccl, .out = &lib};
    struct symbols s = {.self = NULL};
    Dl_info us;

    *why = "no such library is loaded";
    if (!dl_iterate_phdr(find_loaded, &search))
        return -1;
    *why = "its file cannot be read";
    if (map_file(&lib) < 0)
        return -1;
    if (dladdr((void *) &fakecuda_lead, &us))
        s.self = dlopen(us.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *why = "its code cannot be changed in memory";
    if (!s.self || use_symbols(&lib, &s) < 0)
        return -1;
    munmap(lib.file, lib.bytes);
    *why = "it has no symbols (stripped)";
    if (!s.rows)
        return -1;
    *why = "the layout of this release is not known (layout.c)";
    if (fake_kernels_init(version, s.rows, s.n_rows) < 0)
        return -1;
    if (getenv("FAKECUDA_TRACE"))
        fprintf(stderr, "fakecuda: %d functions led over, %d left\n", s.n_led,
                s.n_left);
    return s.n_led;
}
