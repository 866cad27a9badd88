/* test_nvml.c - NVML's reader against machines that are not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "orchestrator/topo/hardware.h"

static const char *library(const char *name)
{
    static char path[4096];
    const char *build = getenv("top_builddir");

    snprintf(path, sizeof(path), "%s/contrib/fakegpu/.libs/%s",
             build ? build : ".", name);
    return path;
}

static void clear(void)
{
    static const char *const names[] = {"COUNT",  "MACHINE", "DEAD", "ASLEEP",
                                        "CLIQUE", "FABRIC",  "FAIL", "HANG",
                                        "CRASH",  "GARBAGE", "MIG"};
    char name[32];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(name, sizeof(name), "FAKEGPU_%s", names[i]);
        unsetenv(name);
    }
}

/* "NAME=VALUE NAME=VALUE" into FAKEGPU_*. */
static void set(const char *settings)
{
    char *copy = strdup(settings), *rest = copy, *word;
    char name[32];

    clear();
    while ((word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');

        if (!value)
            continue;
        *value++ = '\0';
        snprintf(name, sizeof(name), "FAKEGPU_%s", word);
        setenv(name, value, 1);
    }
    free(copy);
}

/* What a GPU's links lead to: "c3*4 c5*2" (remote type, place, how many). */
static void describe(const struct jp_nvml_gpu *gpu, char *out, size_t size)
{
    static const char letter[] = {'?', 'g', 's', 'c'};
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < gpu->n_links;) {
        const struct jp_nvml_link *link = &gpu->links[i];
        uint32_t n = 0;

        while (i < gpu->n_links && gpu->links[i].state == link->state &&
               gpu->links[i].remote == link->remote &&
               strcmp(gpu->links[i].remote_busid, link->remote_busid) == 0)
            n++, i++;
        used += (size_t) snprintf(
            out + used, size - used, "%s%c%s*%u", used ? " " : "",
            link->state == JP_LINK_ACTIVE ? letter[link->remote] : '-',
            link->remote_busid, n);
    }
}

struct expected {
    const char *settings;
    unsigned gpus, links;
    int version;
    int64_t mbs;
    const char *gpu0, *last; /* what their links lead to */
};

static const struct expected machines[] = {
    {"MACHINE=v100", 8, 6, 2, 25781,
     "g0000:22:00.0*1 g0000:2a:00.0*1 g0000:32:00.0*2 g0000:3a:00.0*2",
     "g0000:32:00.0*1 g0000:3a:00.0*2 g0000:42:00.0*1 g0000:4a:00.0*2"},
    {"MACHINE=a100", 8, 12, 5, 25000,
     "s0000:c0:00.0*2 s0000:c1:00.0*2 s0000:c2:00.0*2 s0000:c3:00.0*2 "
     "s0000:c4:00.0*2 s0000:c5:00.0*2",
     NULL},
    {"MACHINE=a100x4", 4, 12, 5, 25000,
     "g0000:22:00.0*4 g0000:2a:00.0*4 g0000:32:00.0*4",
     "g0000:1a:00.0*4 g0000:22:00.0*4 g0000:2a:00.0*4"},
    {"MACHINE=h100", 8, 18, 6, 26562,
     "s0000:c0:00.0*5 s0000:c1:00.0*4 s0000:c2:00.0*4 s0000:c3:00.0*5", NULL},
    {"MACHINE=h100 DEAD=0:5,0:6", 8, 18, 6, 26562,
     "s0000:c0:00.0*5 -*2 s0000:c1:00.0*2 s0000:c2:00.0*4 s0000:c3:00.0*5",
     "s0000:c0:00.0*5 s0000:c1:00.0*4 s0000:c2:00.0*4 s0000:c3:00.0*5"},
    /* NVML's call says that a sleeping link is off, its field that it sleeps */
    {"MACHINE=h100 DEAD=0:5 ASLEEP=0:6,0:7", 8, 18, 6, 26562,
     "s0000:c0:00.0*5 -*1 s0000:c1:00.0*3 s0000:c2:00.0*4 s0000:c3:00.0*5",
     "s0000:c0:00.0*5 s0000:c1:00.0*4 s0000:c2:00.0*4 s0000:c3:00.0*5"},
    {"MACHINE=b200", 8, 18, 7, 50000, "s*18", "s*18"},
    {"MACHINE=nvl72", 4, 18, 7, 50000, "?*18", "?*18"},
    {"MACHINE=power9", 4, 6, 2, 25781, "c0004:00:01.0*3 c0004:00:01.1*3", NULL},
    {"COUNT=2", 2, 0, -1, -1, "", ""},
    {"COUNT=0", 0, 0, -1, -1, NULL, NULL},
};

static void test_machines(void **state)
{
    char text[400];

    (void) state;
    for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
        const struct expected *m = &machines[i];
        struct jp_nvml *nvml;

        set(m->settings);
        nvml = nvml_ask(library("libnvidia-ml.so.1"), 20000);
        assert_non_null(nvml);
        print_message("# %s: %s\n", m->settings, nvml->text);
        assert_int_equal(nvml->probe, JP_NVML_OK);
        assert_string_equal(nvml->driver, "550.54.15");
        assert_int_equal(nvml->n_told, m->gpus);
        assert_int_equal(nvml->n_gpus, m->gpus);
        for (uint32_t g = 0; g < nvml->n_gpus; g++) {
            const struct jp_nvml_gpu *gpu = &nvml->gpus[g];

            assert_int_equal(gpu->minor, g);
            assert_true(gpu->links_asked);
            assert_int_equal(gpu->n_links, m->links);
            for (uint32_t l = 0; l < gpu->n_links; l++) {
                assert_int_equal(gpu->links[l].link, l);
                assert_int_equal(gpu->links[l].p2p, 1);
                assert_int_equal(gpu->links[l].version, m->version);
                if (gpu->links[l].state == JP_LINK_ACTIVE)
                    assert_int_equal(gpu->links[l].speed_mbs, m->mbs);
            }
        }
        if (m->gpu0) {
            describe(&nvml->gpus[0], text, sizeof(text));
            assert_string_equal(text, m->gpu0);
            assert_string_equal(nvml->gpus[0].busid, "0000:1a:00.0");
            assert_string_equal(nvml->gpus[0].uuid,
                                "GPU-fa4e0000-0000-4000-8000-000000000000");
        }
        if (m->last) {
            describe(&nvml->gpus[nvml->n_gpus - 1], text, sizeof(text));
            assert_string_equal(text, m->last);
        }
        free(nvml);
    }
}

static void test_fabric(void **state)
{
    static const struct {
        const char *settings;
        unsigned fabric, clique;
        int health;
        bool asked;
    } rows[] = {
        {"MACHINE=nvl72", 3, 1, 1, true},
        {"MACHINE=nvl72 CLIQUE=7 FABRIC=2", 3, 7, -1, true},
        {"MACHINE=nvl72 FABRIC=1", 0, 0, 0, false},
        {"MACHINE=h100", 0, 0, -1, true},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_nvml *nvml;
        const struct jp_nvml_fabric *fabric;

        set(rows[i].settings);
        nvml = nvml_ask(library("libnvidia-ml.so.1"), 20000);
        fabric = &nvml->gpus[0].fabric;
        assert_int_equal(fabric->asked, rows[i].asked);
        if (rows[i].asked) {
            assert_int_equal(fabric->state, rows[i].fabric);
            assert_int_equal(fabric->clique, rows[i].clique);
            assert_int_equal(fabric->health, rows[i].health);
            assert_int_equal(fabric->cluster[3],
                             rows[i].fabric == 3 ? 0xC5 : 0);
            assert_int_equal(fabric->health_mask, 0x1025);
        }
        free(nvml);
    }
    set("MACHINE=nvl72");
    {
        struct jp_nvml *nvml = nvml_ask(library("libnvidia-ml.so.1"), 20000);

        assert_int_equal(nvml->gpus[0].c2c_links, 2);
        assert_int_equal(nvml->gpus[0].c2c_speed_mbs, 44712);
        free(nvml);
    }
}

static void test_mig(void **state)
{
    struct jp_nvml *nvml;

    (void) state;
    set("COUNT=1 MIG=MIG-11111111-2222-3333-4444-555555555555");
    nvml = nvml_ask(library("libnvidia-ml.so.1"), 20000);
    assert_int_equal(nvml->gpus[0].mig, 1);
    assert_int_equal(nvml->gpus[0].n_migs, 1);
    assert_string_equal(nvml->gpus[0].migs[0],
                        "MIG-11111111-2222-3333-4444-555555555555");
    assert_string_equal(nvml->gpus[0].uuid,
                        "GPU-fa4e0000-0000-4000-8000-000000000000");
    free(nvml);
}

#define LONG "a/folder/of/which/the/path/is/very/long/indeed/"

/* What a driver may do; gpus: how many of its GPUs are still told. */
static void test_failures(void **state)
{
    static const struct {
        const char *settings, *library;
        enum jp_nvml_probe probe;
        const char *text;
        unsigned gpus;
        bool links;
    } rows[] = {
        {"COUNT=1", "libnothing.so", JP_NVML_ABSENT, "No such file", 0, false},
        {"COUNT=1", LONG LONG LONG "libnothing.so", JP_NVML_ABSENT,
         "/libnothing.so: cannot open shared object file: No such file", 0,
         false},
        {"COUNT=1", "libcuda.so.1", JP_NVML_ERROR, "nvmlInit_v2 is missing", 0,
         false},
        {"COUNT=1 FAIL=nvmlInit_v2", NULL, JP_NVML_ERROR,
         "nvmlInit_v2: no such GPU (999)", 0, false},
        {"COUNT=1 FAIL=nvmlDeviceGetCount_v2", NULL, JP_NVML_ERROR,
         "nvmlDeviceGetCount_v2", 0, false},
        {"COUNT=4 FAIL=nvmlDeviceGetHandleByIndex_v2", NULL, JP_NVML_OK, "", 0,
         false},
        {"MACHINE=h100 FAIL=nvmlDeviceGetNvLinkState", NULL, JP_NVML_OK, "", 8,
         false},
        {"MACHINE=h100 FAIL=nvmlDeviceGetUUID,nvmlDeviceGetName,"
         "nvmlDeviceGetMinorNumber,nvmlSystemGetDriverVersion,"
         "nvmlDeviceGetNvLinkVersion,nvmlDeviceGetFieldValues,"
         "nvmlDeviceGetGpuFabricInfoV,nvmlDeviceGetMigMode",
         NULL, JP_NVML_OK, "", 8, true},
        {"COUNT=2", "libnvidia-ml-old.so.1", JP_NVML_OK, "", 2, false},
        {"MACHINE=h100 HANG=nvmlInit_v2", NULL, JP_NVML_TIMEOUT,
         "init: no answer within 300 ms", 0, false},
        {"MACHINE=h100 CRASH=nvmlDeviceGetNvLinkRemotePciInfo_v2", NULL,
         JP_NVML_ERROR, "remote_pci: ended the querying process", 0, false},
        {"MACHINE=h100 GARBAGE=count", NULL, JP_NVML_ERROR,
         "4294967295 GPUs are more than 64", 0, false},
        {"MACHINE=h100 GARBAGE=links", NULL, JP_NVML_OK, "", 8, true},
        {"MACHINE=h100 GARBAGE=texts", NULL, JP_NVML_OK, "", 8, true},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_nvml *nvml;

        set(rows[i].settings);
        nvml = nvml_ask(
            library(rows[i].library ? rows[i].library : "libnvidia-ml.so.1"),
            strstr(rows[i].settings, "HANG") ? 300 : 20000);
        print_message("# %s: %d \"%s\"\n", rows[i].settings, nvml->probe,
                      nvml->text);
        assert_int_equal(nvml->probe, rows[i].probe);
        assert_non_null(strstr(nvml->text, rows[i].text));
        assert_int_equal(nvml->n_gpus, rows[i].gpus);
        if (rows[i].gpus)
            assert_int_equal(nvml->gpus[0].links_asked, rows[i].links);
        free(nvml);
    }
}

/* Numbers out of bounds become "not told", texts have an end. */
static void test_garbage(void **state)
{
    const struct jp_nvml_link *link;
    struct jp_nvml *nvml;

    (void) state;
    set("MACHINE=a100 GARBAGE=links,texts");
    nvml = nvml_ask(library("libnvidia-ml.so.1"), 20000);
    assert_int_equal(nvml->probe, JP_NVML_OK);
    link = &nvml->gpus[7].links[11];
    assert_int_equal(link->state, JP_LINK_UNKNOWN);
    assert_int_equal(link->version, -1);
    assert_int_equal(link->remote, JP_REMOTE_UNKNOWN);
    assert_string_equal(link->remote_busid, "");
    assert_int_equal(strspn(nvml->gpus[0].uuid, "?"), JP_NVML_TEXT - 1);
    free(nvml);
}

/* What was told before a hang is kept. */
static void test_hang_late(void **state)
{
    struct jp_nvml *nvml;

    (void) state;
    set("MACHINE=h100 HANG=nvmlShutdown");
    nvml = nvml_ask(library("libnvidia-ml.so.1"), 300); /* or for ever */
    assert_int_equal(nvml->probe, JP_NVML_TIMEOUT);
    assert_string_equal(nvml->text, "NVML shutdown: no answer within 300 ms");
    assert_int_equal(nvml->n_told, 8);
    assert_int_equal(nvml->n_gpus, 8);
    assert_int_equal(nvml->gpus[7].n_links, 18);
    free(nvml);
}

static void test_busid(void **state)
{
    static const struct {
        const char *text, *tidy;
    } rows[] = {
        {"00000000:1A:00.0", "0000:1a:00.0"},
        {"0000:1a:00.0", "0000:1a:00.0"},
        {"00010000:ff:1f.7", "10000:ff:1f.7"},
        {"FFFFFFFF:FF:FF.0", ""},
        {"ffffffff:1f:1f.0", ""},
        {"0000:1a:20.0", ""},
        {"0000:1a:00.8", ""},
        {"0000:1a:00.0 ", ""},
        {"0000:1a:00", ""},
        {"0000:1a", ""},
        {":", ""},
        {"", ""},
        {"0:1:2.3", "0000:01:02.3"},
        {"000000000:1a:00.0", ""},
        {"0000:1\xe4:00.0", ""},
    };
    static const struct {
        uint64_t number;
        const char *tidy;
    } nccl[] = {
        {0x4e000, "0000:4e:00.0"}, {0x1a0010, "0001:a0:01.0"},
        {0xff1f7, "0000:ff:1f.7"}, {0xff208, ""},
        {0, "0000:00:00.0"},       {0xfffffffff1000, ""},
        {UINT64_MAX, ""},
    };
    char out[JP_BUSID];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(busid_tidy(rows[i].text, out), *rows[i].tidy ? 0 : -1);
        assert_string_equal(out, rows[i].tidy);
    }
    for (size_t i = 0; i < sizeof(nccl) / sizeof(*nccl); i++) {
        busid_of_nccl(nccl[i].number, out);
        assert_string_equal(out, nccl[i].tidy);
    }
    assert_true(busid_compare("ffff:00:00.0", "10000:00:00.0") < 0);
    assert_true(busid_compare("0000:1a:00.0", "0000:0a:00.0") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busid),     cmocka_unit_test(test_machines),
        cmocka_unit_test(test_fabric),    cmocka_unit_test(test_mig),
        cmocka_unit_test(test_failures),  cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_hang_late),
    };

    return cmocka_run_group_tests_name("nvml", tests, NULL, NULL);
}
