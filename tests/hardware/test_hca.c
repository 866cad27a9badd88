/* test_hca.c - adapters and GPUs from made-up /sys and /proc; hardware.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "common/fileio.h"
#include "orchestrator/topo/hardware.h"
#include "tests/common/tempdir.h"

/* "path" and its text, or "path" and "-> target". */
struct entry {
    const char *path, *text;
};

static void make(const char *root, const struct entry *entries)
{
    for (; entries->path; entries++) {
        char *path = tempdir_path(root, entries->path);
        char *folder = strdup(path);
        FILE *file;

        *strrchr(folder, '/') = '\0';
        assert_int_equal(fileio_mkdirs(folder, NULL), 0);
        if (strncmp(entries->text, "-> ", 3) == 0) {
            assert_int_equal(symlink(entries->text + 3, path), 0);
        } else {
            file = fopen(path, "w");
            assert_non_null(file);
            fputs(entries->text, file);
            fclose(file);
        }
        free(folder);
        free(path);
    }
}

#define DEV "sys/devices/pci0000:17/"
#define IB(name) "sys/class/infiniband/" name

/* An InfiniBand port, RoCE on two ports of a card of which one is down, EFA, a
 * virtual function, iWARP, Omni-Path whose driver cannot be read, and Slingshot
 * without an RDMA device. */
static const struct entry sysfs[] = {
    {DEV "0000:18:00.0/vendor", "0x15b3\n"},
    {DEV "0000:18:00.0/device", "0x1021\n"},
    {DEV "0000:18:00.0/driver", "-> ../../../bus/pci/drivers/mlx5_core"},
    {DEV "0000:18:00.0/net/ib0/mtu", "4092\n"},
    {IB("mlx5_0/device"), "-> ../../../devices/pci0000:17/0000:18:00.0"},
    {IB("mlx5_0/node_type"), "1: CA\n"},
    {IB("mlx5_0/node_guid"), "b83f:d203:00f4:0e1a\n"},
    {IB("mlx5_0/sys_image_guid"), "b83f:d203:00f4:0e1b\n"},
    {IB("mlx5_0/ports/1/state"), "4: ACTIVE\n"},
    {IB("mlx5_0/ports/1/phys_state"), "5: LinkUp\n"},
    {IB("mlx5_0/ports/1/rate"), "400 Gb/sec (4X NDR)\n"},
    {IB("mlx5_0/ports/1/link_layer"), "InfiniBand\n"},
    {IB("mlx5_0/ports/1/gids/0"), "fe80:0000:0000:0000:b83f:d203:00f4:0e1a\n"},
    {DEV "0000:9a:00.0/vendor", "0x15b3\n"},
    {DEV "0000:9a:00.0/device", "0x101b\n"},
    {DEV "0000:9a:00.0/driver", "-> ../../../bus/pci/drivers/mlx5_core"},
    {IB("mlx5_1/device"), "-> ../../../devices/pci0000:17/0000:9a:00.0"},
    {IB("mlx5_1/node_type"), "1: CA\n"},
    {IB("mlx5_1/ports/1/state"), "4: ACTIVE\n"},
    {IB("mlx5_1/ports/1/rate"), "2.5 Gb/sec (1X SDR)\n"},
    {IB("mlx5_1/ports/1/link_layer"), "Ethernet\n"},
    {IB("mlx5_1/ports/2/state"), "1: DOWN\n"},
    {IB("mlx5_1/ports/2/phys_state"), "3: Disabled\n"},
    {IB("mlx5_1/ports/2/rate"), "garbage Gb/sec\n"},
    {IB("mlx5_1/ports/2/link_layer"), "Ethernet\n"},
    {IB("mlx5_1/ports/x/state"), "4: ACTIVE\n"},
    {DEV "0000:9a:00.2/vendor", "0x15b3\n"},
    {DEV "0000:9a:00.2/driver", "-> ../../../bus/pci/drivers/mlx5_core"},
    {DEV "0000:9a:00.2/physfn", "-> ../0000:9a:00.0"},
    {IB("mlx5_2/device"), "-> ../../../devices/pci0000:17/0000:9a:00.2"},
    {IB("mlx5_2/node_type"), "1: CA\n"},
    {IB("mlx5_2/ports/1/state"), "4: ACTIVE\n"},
    {IB("mlx5_2/ports/1/link_layer"), "InfiniBand\n"},
    {DEV "0000:c8:00.0/vendor", "0x1d0f\n"},
    {DEV "0000:c8:00.0/device", "0xefa2\n"},
    {DEV "0000:c8:00.0/driver", "-> ../../../bus/pci/drivers/efa"},
    {IB("rdmap200s0/device"), "-> ../../../devices/pci0000:17/0000:c8:00.0"},
    {IB("rdmap200s0/node_type"), "7: unspecified\n"},
    {IB("rdmap200s0/ports/1/state"), "4: ACTIVE\n"},
    {IB("rdmap200s0/ports/1/rate"), "100 Gb/sec (4X EDR)\n"},
    {IB("rdmap200s0/ports/1/link_layer"), "Unspecified\n"},
    {IB("iw0/node_type"), "4: RNIC\n"},
    {IB("iw0/ports/1/state"), "4: ACTIVE\n"},
    {IB("iw0/ports/1/link_layer"), "Ethernet\n"},
    {IB("hfi1_0/node_type"), "1: CA\n"},
    {IB("hfi1_0/ports/1/state"), "4: ACTIVE\n"},
    {IB("hfi1_0/ports/1/link_layer"), "InfiniBand\n"},
    {IB("empty/node_type"), "1: CA\n"},
    {DEV "0000:d1:00.0/vendor", "0x17db\n"},
    {DEV "0000:d1:00.0/device", "0x0501\n"},
    {"sys/class/net/hsn0/device",
     "-> ../../../devices/pci0000:17/0000:d1:00.0"},
    {"sys/class/net/hsn0/operstate", "up\n"},
    {"sys/class/net/hsn0/speed", "200000\n"},
    {"sys/class/net/lo/operstate", "unknown\n"},
    {"sys/class/net/ib0/device", "-> ../../../devices/pci0000:17/0000:18:00.0"},
    {"sys/class/net/ib0/operstate", "up\n"},
    {"sys/class/net/bonding_masters", "\n"},
    {NULL, NULL},
};

static const struct {
    const char *name, *busid;
    unsigned port;
    enum jp_hca_kind kind;
    const char *state;
    double rate;
} ports[] = {
    {"hfi1_0", "", 1, JP_HCA_OPA, "ACTIVE", 0},
    {"iw0", "", 1, JP_HCA_UNKNOWN, "ACTIVE", 0},
    {"mlx5_0", "0000:18:00.0", 1, JP_HCA_IB, "ACTIVE", 400},
    {"mlx5_1", "0000:9a:00.0", 1, JP_HCA_ROCE, "ACTIVE", 2.5},
    {"mlx5_1", "0000:9a:00.0", 2, JP_HCA_ROCE, "DOWN", 0},
    {"mlx5_2", "0000:9a:00.2", 1, JP_HCA_IB, "ACTIVE", 0},
    {"rdmap200s0", "0000:c8:00.0", 1, JP_HCA_EFA, "ACTIVE", 100},
    {"hsn0", "0000:d1:00.0", 0, JP_HCA_SLINGSHOT, "ACTIVE", 200},
};

#define N(array) (sizeof(array) / sizeof(*(array)))

static void test_ports(void **state)
{
    char *root = tempdir_path(*state, "machine");
    struct jp_hcas *hcas;

    make(root, sysfs);
    hcas = hca_ask(root, 20000);
    assert_non_null(hcas);
    assert_string_equal(hcas->trouble, "");
    assert_int_equal(hcas->n, N(ports));
    for (size_t i = 0; i < N(ports); i++) {
        const struct jp_hca *port = &hcas->ports[i];

        print_message("# %s:%u %s %s\n", port->name, port->port, port->busid,
                      hca_kind_word[port->kind]);
        assert_string_equal(port->name, ports[i].name);
        assert_string_equal(port->busid, ports[i].busid);
        assert_int_equal(port->port, ports[i].port);
        assert_int_equal(port->kind, ports[i].kind);
        assert_string_equal(port->state, ports[i].state);
        assert_true(port->rate_gbits == ports[i].rate);
    }
    assert_string_equal(hcas->ports[2].node_guid, "b83f:d203:00f4:0e1a");
    assert_string_equal(hcas->ports[2].phys_state, "LinkUp");
    assert_string_equal(hcas->ports[2].vendor, "15b3");
    assert_string_equal(hcas->ports[2].gid,
                        "fe80:0000:0000:0000:b83f:d203:00f4:0e1a");
    assert_int_equal(hcas->ports[2].n_netdevs, 1);
    assert_string_equal(hcas->ports[2].netdevs[0], "ib0");
    assert_true(hcas->ports[5].vf);
    assert_false(hcas->ports[3].vf);
    free(hcas);
    free(root);
}

/* No /sys at all, and more ports than are kept. */
static void test_bounds(void **state)
{
    char *root = tempdir_path(*state, "many");
    char text[2][80];
    struct entry entry[2] = {{text[0], "4: ACTIVE\n"}, {NULL, NULL}};
    struct jp_hcas *hcas;

    hcas = hca_ask(root, 20000);
    assert_int_equal(hcas->n, 0);
    assert_string_equal(hcas->trouble, "");
    free(hcas);
    for (int i = 0; i < JP_HCA_MAX + 3; i++) {
        snprintf(text[0], sizeof(text[0]), IB("d%03d/ports/1/state"), i);
        make(root, entry);
    }
    hcas = hca_ask(root, 20000);
    assert_int_equal(hcas->n, JP_HCA_MAX);
    assert_string_not_equal(hcas->trouble, "");
    free(hcas);
    free(root);
}

static const struct entry procfs[] = {
    {"proc/driver/nvidia/gpus/0000:3b:00.0/information",
     "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 240\nGPU UUID: \t "
     "GPU-11111111-2222-3333-4444-555555555555\nVideo BIOS: \t 92\n"
     "Bus Type: \t PCIe\nBus Location: \t 0000:3b:00.0\nDevice Minor: \t 2\n"},
    {"proc/driver/nvidia/gpus/0000:1b:00.0/information",
     "Model: \t\t Unknown\nGPU UUID: \t GPU-\?\?\?\?\nDevice Minor: \t "
     "70000\n"},
    {"proc/driver/nvidia/gpus/garbage/information", "Model: x\n"},
    {NULL, NULL},
};

static void test_proc(void **state)
{
    char *root = tempdir_path(*state, "gpus");
    struct jp_nvml *nvml = calloc(1, sizeof(*nvml));

    make(root, procfs);
    nvml_read_proc(root, nvml);
    assert_int_equal(nvml->n_gpus, 2);
    assert_string_equal(nvml->gpus[0].busid, "0000:1b:00.0");
    assert_string_equal(nvml->gpus[0].uuid, "");
    assert_int_equal(nvml->gpus[0].minor, -1);
    assert_string_equal(nvml->gpus[1].model, "NVIDIA A100-SXM4-40GB");
    assert_string_equal(nvml->gpus[1].uuid,
                        "GPU-11111111-2222-3333-4444-555555555555");
    assert_int_equal(nvml->gpus[1].minor, 2);
    assert_false(nvml->gpus[1].links_asked);
    free(nvml);
    free(root);
}

static const char *word(const json_t *json, const char *key)
{
    const char *value = json_string_value(json_object_get(json, key));

    return value ? value : "(null)";
}

static json_t *member(const json_t *json, const char *key)
{
    return json_object_get(json, key);
}

static void check_told(const json_t *gpu)
{
    const json_t *link = json_array_get(member(gpu, "links"), 0);
    const json_t *fabric = member(gpu, "fabric");

    assert_string_equal(word(gpu, "uuid"), "GPU-1");
    assert_int_equal(json_integer_value(member(gpu, "minor")), 3);
    assert_string_equal(word(link, "state"), "active");
    assert_string_equal(word(link, "remote"), "switch");
    assert_int_equal(json_integer_value(member(link, "speed_mbs")), 26562);
    assert_true(json_is_null(member(link, "p2p")));
    assert_true(json_is_null(member(link, "remote_busid")));
    assert_string_equal(word(fabric, "state"), "completed");
    assert_string_equal(word(fabric, "cluster_uuid"),
                        "ab000000-0000-0000-0000-000000000000");
    assert_string_equal(word(fabric, "health"), "unhealthy");
}

static void check_not_told(const json_t *gpu)
{
    assert_true(json_is_null(member(gpu, "links")));
    assert_true(json_is_null(member(gpu, "minor")));
    assert_true(json_is_null(member(gpu, "model")));
    assert_true(json_is_null(member(gpu, "c2c")));
    assert_true(json_is_null(member(gpu, "fabric")));
    assert_int_equal(json_array_size(member(member(gpu, "mig"), "devices")), 1);
}

static const struct jp_nvml_gpu told = {.busid = "0000:1a:00.0",
                                        .uuid = "GPU-1",
                                        .minor = 3,
                                        .links_asked = true,
                                        .n_links = 1,
                                        .links = {{.link = 4,
                                                   .state = JP_LINK_ACTIVE,
                                                   .remote = JP_REMOTE_SWITCH,
                                                   .p2p = -1,
                                                   .version = 6,
                                                   .speed_mbs = 26562}},
                                        .c2c_links = -1,
                                        .fabric = {.asked = true,
                                                   .state = 3,
                                                   .cluster = {0xab},
                                                   .clique = 9,
                                                   .health_mask = -1,
                                                   .health = 2},
                                        .mig = -1};
static const struct jp_nvml_gpu not_told = {.busid = "0000:2a:00.0",
                                            .minor = -1,
                                            .c2c_links = -1,
                                            .mig = 1,
                                            .n_migs = 1,
                                            .migs = {"MIG-1"}};

/* The file says what was told, and null where nothing was. */
static void test_format(void **state)
{
    struct jp_nvml *nvml = calloc(1, sizeof(*nvml));
    struct jp_hcas *hcas = calloc(1, sizeof(*hcas));
    struct jp_hardware hw = {.node = "n1",
                             .topology_addr = "",
                             .hwloc = "2.9.0",
                             .source = JP_TOPO_HWLOC,
                             .shape = "0123456789abcdef",
                             .why = "",
                             .nvml = nvml,
                             .hcas = hcas};
    size_t len = 0;
    json_t *json;
    char *text;

    (void) state;
    nvml->n_told = nvml->n_gpus = 2;
    nvml->gpus[0] = told;
    nvml->gpus[1] = not_told;
    text = hardware_format(&hw, &len, NULL);
    assert_non_null(text);
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    assert_int_equal(json_integer_value(member(json, "schema")), 1);
    assert_string_equal(word(json, "node"), "n1");
    assert_true(json_is_null(member(json, "topology_addr")));
    assert_string_equal(word(member(json, "nvml"), "probe"), "ok");
    assert_string_equal(word(member(json, "topology"), "shape"),
                        "0123456789abcdef");
    check_told(json_array_get(member(json, "gpus"), 0));
    check_not_told(json_array_get(member(json, "gpus"), 1));
    json_decref(json);
    free(text);
    free(nvml);
    free(hcas);
}

/* What is personal does not change a shape, what is wired does. */
static void test_shape(void **state)
{
    static const char base[] =
        "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n"
        "  <object type=\"Machine\" cpuset=\"0xf\" allowed_cpuset=\"0xf\">\n"
        "    <info name=\"HostName\" value=\"n1\"/>\n"
        "    <info name=\"Backend\" value=\"Linux\"/>\n"
        "    <page_type size=\"4096\" count=\"1234\"/>\n"
        "    <object type=\"NUMANode\" local_memory=\"5\" os_index=\"0\">\n"
        "    <object type=\"OSDev\" name=\"mlx5_0\">\n"
        "      <info name=\"Port1LID\" value=\"0x5\"/>\n"
        "      <info name=\"Port1State\" value=\"4\"/>\n";
    static const struct {
        const char *from, *to;
        bool same;
    } rows[] = {
        {"value=\"n1\"", "value=\"n2\"", true},
        {"count=\"1234\"", "count=\"9\"", true},
        {"local_memory=\"5\"", "local_memory=\"77\"", true},
        {"allowed_cpuset=\"0xf\"", "allowed_cpuset=\"0x3\"", true},
        {"value=\"0x5\"", "value=\"0x6\"", true},
        {"Port1State\" value=\"4\"", "Port1State\" value=\"1\"", false},
        {"mlx5_0", "mlx5_1", false},
        {"cpuset=\"0xf\" a", "cpuset=\"0xff\" a", false},
        {"value=\"Linux\"", "value=\"x86\"", false},
    };
    char first[JP_SHAPE_LEN], other[JP_SHAPE_LEN];

    (void) state;
    hardware_shape(base, strlen(base), first);
    for (size_t i = 0; i < N(rows); i++) {
        const char *hit = strstr(base, rows[i].from);
        char *text = text_format("%.*s%s%s", (int) (hit - base), base,
                                 rows[i].to, hit + strlen(rows[i].from));

        hardware_shape(text, strlen(text), other);
        print_message("# %s: %s\n", rows[i].to, other);
        if (rows[i].same)
            assert_string_equal(first, other);
        else
            assert_string_not_equal(first, other);
        free(text);
    }
    hardware_shape("", 0, other);
    assert_int_equal(strlen(other), 16);
    hardware_shape("<info name=\"", 12, other);
    hardware_shape(" allowed_cpuset=\"", 17, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_proc),  cmocka_unit_test(test_format),
        cmocka_unit_test(test_shape),
    };

    return cmocka_run_group_tests_name("hca", tests, tempdir_make,
                                       tempdir_drop);
}
