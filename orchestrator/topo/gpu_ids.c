/* gpu_ids.c - which GPUs can have NVLink, by their PCI device id. */
#include "orchestrator/topo/gpu_ids.h"

#include <stddef.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* From, to (inclusive). */
static const struct range {
    uint16_t first, last;
    const char *what;
} no_nvlink[] = {
    {0x0000, 0x15ef, "Tesla to Maxwell"},
    {0x15f1, 0x15f8, "P100 PCIe"},
    {0x15fa, 0x1d7f, "Maxwell GM2xx, Pascal but GP100"},
    {0x1db3, 0x1db4, "V100 FHHL, PCIe 16 GB"},
    {0x1db6, 0x1db6, "V100 PCIe 32 GB"},
    {0x1df6, 0x1df6, "V100S PCIe"},
    {0x1eb4, 0x1eb4, "T4G"},
    {0x1eb8, 0x1eb8, "T4"},
    {0x1f00, 0x1fff, "TU106, TU117: RTX 2070 and below"},
    {0x2180, 0x21ff, "TU116: GTX 1660"},
    {0x2236, 0x2237, "A10, A10G"},
    {0x2400, 0x25ff, "GA103 to GA107: A2, A16, RTX A2000, A4000"},
    {0x2680, 0x28ff, "Ada: L4, L20, L40, L40S, RTX 6000 Ada"},
    {0x2b80, 0x2dff, "GB20x: RTX PRO Blackwell, RTX 50"},
};

/* Links times speed of one link, one way. */
static const struct capacity {
    uint16_t first, last;
    uint64_t mbs;
    const char *what;
} capacities[] = {
    {0x15f9, 0x15f9, 80000, "P100 SXM2: 4 x 20 GB/s"},
    {0x1db1, 0x1db1, 150000, "V100 SXM2: 6 x 25 GB/s"},
    {0x1db5, 0x1db5, 150000, "V100 SXM2 32 GB"},
    {0x1db8, 0x1db8, 150000, "V100 SXM3"},
    {0x1df5, 0x1df5, 150000, "V100 SXM2 16 GB"},
    {0x20b0, 0x20b3, 300000, "A100 SXM4: 12 x 25 GB/s"},
    {0x20bd, 0x20bd, 200000, "A800 SXM4 40 GB: 8 x 25 GB/s"},
    {0x20f3, 0x20f3, 200000, "A800 SXM4 80 GB"},
    {0x2324, 0x2324, 200000, "H800: 8 x 25 GB/s"},
    {0x2329, 0x2329, 450000, "H20"},
    {0x2330, 0x2330, 450000, "H100 SXM5: 18 x 25 GB/s"},
    {0x2335, 0x2336, 450000, "H200 SXM5, H100 SXM5 64 GB"},
    {0x2339, 0x2339, 450000, "H100 SXM5 96 GB"},
    {0x2342, 0x2348, 450000, "GH200"},
    {0x2901, 0x2901, 900000, "B200: 18 x 50 GB/s"},
    {0x2941, 0x2941, 900000, "GB200"},
    {0x3182, 0x3182, 900000, "B300"},
    {0x31c2, 0x31c2, 900000, "GB300"},
};

static const uint16_t with_c2c[] = {0x2342, 0x2345, 0x2348, 0x2941, 0x31c2};

/* V100's, A100's, H100's */
static const uint16_t switches[] = {0x1ac0, 0x1ac1, 0x1ac2, 0x1af1, 0x22a3};

/* MI25, MI50, MI60. */
bool gpu_ids_is_instinct(uint16_t device)
{
    return (device >= 0x6860 && device <= 0x686c) ||
           (device >= 0x66a0 && device <= 0x66a3);
}

bool gpu_ids_no_nvlink(uint16_t device)
{
    for (size_t i = 0; i < COUNT(no_nvlink); i++)
        if (device >= no_nvlink[i].first && device <= no_nvlink[i].last)
            return true;
    return false;
}

uint64_t gpu_ids_nvlink_mbs(uint16_t device)
{
    for (size_t i = 0; i < COUNT(capacities); i++)
        if (device >= capacities[i].first && device <= capacities[i].last)
            return capacities[i].mbs;
    return 0;
}

bool gpu_ids_has_c2c(uint16_t device)
{
    for (size_t i = 0; i < COUNT(with_c2c); i++)
        if (device == with_c2c[i])
            return true;
    return false;
}

bool gpu_ids_is_nvswitch(uint16_t class_id, uint16_t device)
{
    for (size_t i = 0; i < COUNT(switches); i++)
        if (device == switches[i])
            return true;
    return class_id == 0x0680 && device > switches[0];
}
