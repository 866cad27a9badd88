/* fuzz_clockfile.c - what agents leave of clocks: their windows and addresses,
 * the map that is made of them, and what is printed. */
#include <ftw.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/clock/clock_feature.h"
#include "plugins/clock/clock_peers.h"
#include "plugins/clock/clock_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES 3

static void check_file(const struct clock_file *file)
{
    int64_t ahead;

    if (!*file->node || file->node_id >= file->nodes)
        abort();
    for (size_t i = 0; i < file->n_windows; i++) {
        const struct clock_window *w = &file->windows[i];

        if (w->from != file->node_id || w->to == w->from ||
            w->end_ns < w->start_ns || !isfinite(w->slope) ||
            !isfinite(w->margin_ns) || !(w->unc_ns >= 0))
            abort();
    }
    for (size_t i = 1; i < file->n_walls; i++)
        if (file->walls[i].mono_ns < file->walls[i - 1].mono_ns)
            abort();
    clock_file_wall(file, 0, &ahead);
    clock_file_wall(file, INT64_MAX, &ahead);
}

static void parse(const char *text, size_t len)
{
    struct clock_file file;
    struct peer_place peer;
    struct jp_error err = {""};

    if (clock_file_parse(text, len, &file, &err) == 0) {
        check_file(&file);
        clock_file_fini(&file);
    } else if (!*err.text) {
        abort();
    }
    if (clock_xla_parse(text, len, 1, &file, &err) == 0) {
        for (size_t i = 0; i < file.n_windows; i++) {
            const struct clock_window *w = &file.windows[i];

            if (w->from != 1 || w->to == 1 || w->end_ns < w->start_ns ||
                !isfinite(w->slope) || !(w->unc_ns >= 0))
                abort();
        }
        clock_file_fini(&file);
    }
    if (peer_parse(text, &peer, &err) == 0 &&
        (!peer.port || peer.n_addresses > PEER_ADDRESSES))
        abort();
}

static void put(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    if (!out)
        return;
    fputs(text, out);
    fclose(out);
}

/* The parts of the text, between lines of "=", are the files of nodes. */
static void write_files(const char *dir, char *text)
{
    static const char *const names[NODES] = {"a", "b", "c"};

    for (int i = 0; i < NODES; i++) {
        char *end = text ? strstr(text, "=\n") : NULL;
        char path[160];

        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        mkdir(path, 0700);
        if (!text)
            continue;
        if (end)
            *end = '\0';
        snprintf(path, sizeof(path), "%s/%s/clock.jsonl", dir, names[i]);
        put(path, text);
        /* and as the file of a process of XLA's */
        snprintf(path, sizeof(path), "%s/../raw/%s", dir, names[i]);
        mkdir(path, 0700);
        snprintf(path, sizeof(path), "%s/../raw/%s/probe_windows_node%d.jsonl",
                 dir, names[i], i);
        put(path, text);
        text = end ? end + 2 : NULL;
    }
}

static void check_map(const struct clockmap *map)
{
    for (size_t i = 0; i < map->n_nodes; i++) {
        const struct clockmap_node *node = &map->nodes[i];

        if (i && strcmp(map->nodes[i - 1].host, node->host) >= 0)
            abort();
        for (size_t k = 0; k < node->n_points; k++)
            if ((k && node->points[k].t_ns <= node->points[k - 1].t_ns) ||
                !(node->points[k].unc_ns >= 0))
                abort();
        clockmap_us(node, 1700000000000000);
    }
}

static void use_files(char *dir)
{
    struct feature_shown done;
    FILE *out = fopen("/dev/null", "w");
    struct jp_clocks *clocks = clocks_make(NULL, 0, dir);
    char text[CLOCKS_TEXT];

    if (clocks) {
        check_map(&clocks->map);
        if (strlen(clocks_text(clocks, text)) >= CLOCKS_TEXT)
            abort();
    }
    clocks_destroy(clocks);
    for (int json = 0; out && json < 2; json++)
        clock_show(&dir, 1, &(struct feature_show){.json = json, .out = out},
                   &done, NULL);
    if (out)
        fclose(out);
}

static int drop(const char *path, const struct stat *st, int type,
                struct FTW *at)
{
    (void) st;
    (void) type;
    (void) at;
    return remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char dir[] = "/tmp/fuzz_clockfile.XXXXXX";
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    parse(text, size);
    if (mkdtemp(dir)) {
        char nodes[64], raw[64];

        snprintf(nodes, sizeof(nodes), "%s/nodes", dir);
        snprintf(raw, sizeof(raw), "%s/raw", dir);
        mkdir(nodes, 0700);
        mkdir(raw, 0700);
        write_files(nodes, text);
        use_files(nodes);
        nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS);
    }
    free(text);
    return 0;
}
