/* test_loaded.c - frameworks and versions from fake roots of /proc. */
#include "common/loaded.h"

#include <elf.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/common/tempdir.h"

/* proc/77 of the test's root. */
static struct procfs_some one = {.n = 1, .pid = {77}, .start = {777}};

/* Makes all folders of a file below dir, and the file. */
static void put(const char *dir, const char *name, const void *bytes,
                size_t len)
{
    char path[1024];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    for (char *c = path + strlen(dir) + 1; (c = strchr(c, '/')); *c++ = '/') {
        *c = '\0';
        mkdir(path, 0700);
    }
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

/* The process, which belongs to this user and started at 777. */
static const struct procfs_some *one_of(const char *dir)
{
    static const char stat[] =
        "77 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 777 0 0\n";

    put(dir, "proc/77/stat", stat, strlen(stat));
    tempdir_status(dir, 77, getuid(), "");
    one.root = dir;
    one.uid = getuid();
    return &one;
}

static void put_maps(const char *dir, const char *text)
{
    put(dir, "proc/77/maps", text, strlen(text));
}

#define LINE "7f0000000000-7f0000001000 r-xp 00000000 08:01 123    "

/* An ELF file with that text among its constants, at a place where two blocks
 * of the reader meet. */
static void put_elf(const char *dir, const char *name, const char *text,
                    size_t before)
{
    static const char names[] = "\0.rodata\0.shstrtab";
    size_t len = before + strlen(text) + 1;
    Elf64_Shdr section[3] = {
        {.sh_type = SHT_NULL},
        {.sh_name = 1,
         .sh_type = SHT_PROGBITS,
         .sh_offset = sizeof(Elf64_Ehdr) + sizeof(section) + sizeof(names),
         .sh_size = len},
        {.sh_name = 9,
         .sh_type = SHT_STRTAB,
         .sh_offset = sizeof(Elf64_Ehdr) + sizeof(section),
         .sh_size = sizeof(names)}};
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                   ELFCLASS64, ELFDATA2LSB},
                       .e_shoff = sizeof(head),
                       .e_shentsize = sizeof(section[0]),
                       .e_shnum = 3,
                       .e_shstrndx = 2};
    size_t size = sizeof(head) + sizeof(section) + sizeof(names) + len;
    char *file = calloc(1, size), *at = file;

    memcpy(at, &head, sizeof(head));
    memcpy(at += sizeof(head), section, sizeof(section));
    memcpy(at += sizeof(section), names, sizeof(names));
    memcpy(at + sizeof(names) + before, text, strlen(text));
    put(dir, name, file, size);
    free(file);
}

static const char *version_of(const struct loaded_list *loaded,
                              const char *name)
{
    for (uint32_t i = 0; i < loaded->n; i++)
        if (!strcmp(loaded->list[i].name, name))
            return loaded->list[i].version;
    return NULL;
}

static void names(void **state)
{
    struct loaded_list loaded = {0};

    put_maps(*state, LINE
             "/usr/lib/libcudart.so.12.4.127\n" LINE
             "/usr/lib/libcuda.so.550.54.15\n" LINE
             "/usr/lib/libcuda.so.550.54.15\n" LINE
             "/p/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so\n" LINE
             "/p/lib/python3.11/site-packages/jaxlib/libjax_common.so\n" LINE
             "/p/site-packages/tensorflow/libtensorflow_cc.so.2\n" LINE
             "/usr/lib/libnccl.so.2\n" LINE "/usr/lib/libnccl-net.so\n" LINE
             "/home/u/libnccl.txt\n" LINE "[heap]\n");
    put(*state,
        "proc/77/root/p/lib/python3.11/site-packages/"
        "torch-2.4.0+cu121.dist-info/METADATA",
        "", 0);
    put(*state,
        "proc/77/root/p/lib/python3.11/site-packages/"
        "jaxlib-0.4.30.dist-info/METADATA",
        "", 0);
    put(*state,
        "proc/77/root/p/lib/python3.11/site-packages/torchvision-9.dist-info/x",
        "", 0);
    loaded_find(one_of(*state), &loaded);
    assert_string_equal(version_of(&loaded, "cuda"), "12.4.127");
    assert_string_equal(version_of(&loaded, "driver"), "550.54.15");
    assert_string_equal(version_of(&loaded, "torch"), "2.4.0+cu121");
    assert_string_equal(version_of(&loaded, "jax"), "0.4.30");
    /* ".so.2" is the version of the interface */
    assert_string_equal(version_of(&loaded, "tensorflow"), "");
    assert_string_equal(version_of(&loaded, "nccl"), "");
    assert_int_equal(loaded.n, 6);
}

/* Another user's process, or a later one, has the number: nothing of it is
 * read. */
static void of_others(void **state)
{
    struct procfs_some some = *one_of(*state);
    struct loaded_list loaded = {0};

    put_maps(*state, LINE "/usr/lib/libcudart.so.12.4.127\n");
    some.uid++;
    loaded_find(&some, &loaded);
    some.uid--;
    some.start[0]--;
    loaded_find(&some, &loaded);
    assert_int_equal(loaded.n, 0);
    some.start[0]++;
    loaded_find(&some, &loaded);
    assert_int_equal(loaded.n, 1);
}

static void nccl_says(void **state)
{
    static const struct {
        const char *text, *want;
        size_t before;
    } rows[] = {
        {"NCCL version 2.21.5+cuda12.4", "2.21.5+cuda12.4", 0},
        {"NCCL version 2.27.7+cuda13.0", "2.27.7+cuda13.0", (256 << 10) - 20},
        {"NCCL version %d.%d NCCL version 2.9.1", "2.9.1", 100},
        {"no version", "", 0},
    };

    put_maps(*state, LINE "/opt/libnccl.so.2\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct loaded_list loaded = {0};

        put_elf(*state, "proc/77/root/opt/libnccl.so.2", rows[i].text,
                rows[i].before);
        loaded_find(one_of(*state), &loaded);
        assert_string_equal(version_of(&loaded, "nccl"), rows[i].want);
    }
}

/* Files with wrong sizes, and files of other kinds. */
static void bad_files(void **state)
{
    char elf[512] = "";
    const char *path = "proc/77/root/opt/libnccl.so.2.1.0";
    struct loaded_list loaded = {0};

    put_maps(*state, LINE "/opt/libnccl.so.2.1.0\n");
    put_elf(*state, path, "NCCL version 2.3.4", 0);
    {
        char full[1024];
        FILE *f;

        snprintf(full, sizeof(full), "%s/%s", (char *) *state, path);
        f = fopen(full, "r");
        assert_non_null(f);
        assert_true(fread(elf, 1, sizeof(elf), f) > 200);
        fclose(f);
    }
    for (size_t at = 0; at < 256; at++) { /* every byte of the tables */
        char bad[512];

        memcpy(bad, elf, sizeof(bad));
        bad[at] = (char) 0xff;
        put(*state, path, bad, sizeof(bad));
        loaded_find(one_of(*state), &loaded);
        put(*state, path, elf, at);
        loaded_find(one_of(*state), &loaded);
    }
    assert_true(loaded.n >= 1 && loaded.n <= LOADED_MAX);
    assert_non_null(version_of(&loaded, "nccl"));
    /* a FIFO opens, and is no file */
    {
        char full[1024];

        snprintf(full, sizeof(full), "%s/%s", (char *) *state, path);
        unlink(full);
        assert_int_equal(mkfifo(full, 0600), 0);
        loaded.n = 0;
        loaded_find(one_of(*state), &loaded);
        assert_string_equal(version_of(&loaded, "nccl"), "2.1.0");
    }
}

static void adds(void **state)
{
    struct loaded_list loaded = {0};
    char name[16];

    loaded_add(&loaded, "nccl", "");
    loaded_add(&loaded, "nccl", "2.1");
    loaded_add(&loaded, "nccl", "");
    loaded_add(&loaded, "nccl", "2.1");
    loaded_add(&loaded, "nccl", "2.2");
    loaded_add(&loaded, "", "1");
    loaded_add(&loaded, "x\n", "1");
    loaded_add(&loaded, "x", "1;2");
    loaded_add(&loaded, "a-name-that-is-too-long", "1");
    assert_int_equal(loaded.n, 2);
    assert_string_equal(loaded.list[0].version, "2.1");
    assert_string_equal(loaded.list[1].version, "2.2");
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        loaded_add(&loaded, name, "1");
    }
    assert_int_equal(loaded.n, LOADED_MAX);
}

/* One look at *state in a child. Returns its processor time, 0 if a busy
 * machine did not end the child in time. */
static uint64_t look_once(const char *root, struct loaded_list *loaded)
{
    struct jp_error err = {""};
    struct loaded_look *look = loaded_look_start(one_of(root), 0, &err);
    uint64_t us;
    int rc = 0;

    assert_non_null(look);
    for (int i = 0; i < 6000 && rc == 0; i++, usleep(10000))
        rc = loaded_look_take(look, 1, loaded, &err);
    assert_int_equal(rc, 1);
    us = look->cpu_us;
    loaded_look_stop(look);
    return us;
}

static void by_a_child(void **state)
{
    uint64_t us = 0;

    put_maps(*state, LINE "/usr/lib/libcudart.so.12.4.127\n");
    for (int i = 0; i < 100 && us == 0; i++) {
        struct loaded_list loaded = {0};

        us = look_once(*state, &loaded);
        assert_string_equal(version_of(&loaded, "cuda"), "12.4.127");
    }
    assert_true(us > 0);
    loaded_look_stop(NULL);
}

static bool is_held;

/* Runs in each child (pthread_atfork). */
static void hold_child(void)
{
    while (is_held)
        pause();
}

/* A FIFO in the place of a file does not block it. */
static void fifo(void **state)
{
    struct loaded_list loaded = {0};
    char full[1024];

    put_maps(*state, "");
    snprintf(full, sizeof(full), "%s/proc/77/maps", (char *) *state);
    unlink(full);
    assert_int_equal(mkfifo(full, 0600), 0);
    alarm(20);
    loaded_find(one_of(*state), &loaded);
    alarm(0);
    assert_int_equal(loaded.n, 0);
}

/* A file system that does not answer: the child is killed, the caller never
 * waits. */
static void hangs(void **state)
{
    struct loaded_list loaded = {0};
    struct jp_error err = {""};
    struct loaded_look *look;

    put_maps(*state, "");
    assert_int_equal(pthread_atfork(NULL, NULL, hold_child), 0);
    is_held = true;
    look = loaded_look_start(one_of(*state), 5, &err);
    is_held = false;
    assert_non_null(look);
    usleep(50000);
    assert_int_equal(loaded_look_take(look, 4 + LOADED_LOOK_MS, &loaded, &err),
                     0);
    assert_int_equal(loaded_look_take(look, 5 + LOADED_LOOK_MS, &loaded, &err),
                     -1);
    assert_non_null(strstr(err.text, "took too long"));
    assert_int_equal(loaded.n, 0);
    loaded_look_stop(look);
}

int main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, tempdir_make, tempdir_drop)
    const struct CMUnitTest tests[] = {
        TEST(names), TEST(of_others),  TEST(nccl_says), TEST(bad_files),
        TEST(adds),  TEST(by_a_child), TEST(fifo),      TEST(hangs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
