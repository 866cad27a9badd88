/* labels.c - the labels of known communicators on known machines, as a table.
 *
 * Every row is printed with its evidence and its sentence. Samples come from
 * $JOBPROF_SHARED, else $top_srcdir/../shared; without them their rows are
 * skipped.
 *
 * nodes: "A=machine B=sample:file" (a machine of machines.txt; the letter is
 * the node's boot id, "B=machine@A" shares A's, "B=bare:machine" has no XML;
 * "corpus:file" is a file of the fuzzer's corpus, made by hand).
 * ranks: "A:0-7" GPUs in PCI
 * order, "A~0-3" by assumption, "A?4" four of unknown GPU, "A%0,0" on MIG
 * devices, "A/other:0" under another host name, "-?2" nobody knows where.
 * label: type fabric inter rail hca_path evidence.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "machine.h"
#include "orchestrator/topo/label.h"
#include "orchestrator/topo/label_parts.h"
#include "table.h"

#define MAX_RANKS 256
#define MAX_NODES 8

struct scene {
    struct jp_label_node nodes[MAX_NODES];
    struct topo *topos[MAX_NODES];
    char names[MAX_NODES][2], boots[MAX_NODES][2], hosts[MAX_RANKS][16];
    struct jp_label_rank ranks[MAX_RANKS];
    size_t n_nodes, n_ranks;
    bool skipped;
};

static const char *shared_folder(char *buf, size_t size)
{
    const char *top = getenv("top_srcdir"), *shared = getenv("JOBPROF_SHARED");

    snprintf(buf, size, "%s%s/samples/hwloc",
             shared ? shared
             : top  ? top
                    : ".",
             shared ? "" : "/../shared");
    return buf;
}

static void load(const char *what, const char *host, char **xml,
                 char **hardware)
{
    const char *top = getenv("top_srcdir");
    char path[600], folder[400];

    *xml = *hardware = NULL;
    if (strncmp(what, "sample:", 7) == 0) {
        snprintf(path, sizeof(path), "%s/%s.xml",
                 shared_folder(folder, sizeof(folder)), what + 7);
        fileio_read(path, true, 1 << 24, xml, NULL, NULL);
        return;
    }
    if (strncmp(what, "corpus:", 7) == 0) {
        snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/topology/%s",
                 top ? top : ".", what + 7);
        if (fileio_read(path, true, 1 << 24, xml, NULL, NULL) < 0)
            exit(99);
        return;
    }
    snprintf(path, sizeof(path), "%s/tests/topo/machines.txt", top ? top : ".");
    if (machine_make(path, what, host, xml, hardware) < 0) {
        fprintf(stderr, "no machine %s\n", what);
        exit(99);
    }
}

static void add_node(struct scene *s, const char *word)
{
    size_t at = s->n_nodes++;
    struct jp_error err = {""}, note = {""};
    char machine[64], *boot, *xml, *hardware;
    bool bare;

    snprintf(machine, sizeof(machine), "%s", word + 2);
    boot = strchr(machine, '@');
    if (boot)
        *boot++ = '\0';
    s->names[at][0] = *word;
    s->boots[at][0] = boot ? *boot : *word;
    s->nodes[at] = (struct jp_label_node){.name = s->names[at],
                                          .boot_id = s->boots[at],
                                          .why = "no topology.xml"};
    if (strcmp(machine, "none") == 0)
        return;
    bare = strncmp(machine, "bare:", 5) == 0;
    load(machine + 5 * bare, s->names[at], &xml, &hardware);
    if (!xml) {
        s->skipped = true;
        return;
    }
    s->topos[at] = bare ? topo_bare(hardware, &err)
                        : topo_make(xml, strlen(xml), &err);
    if (bare)
        free(xml);
    if (s->topos[at] && hardware)
        topo_hardware(hardware, s->topos[at], NULL, &note);
    free(hardware);
    if (!s->topos[at] || *note.text) {
        printf("# %s: %s%s\n", machine, err.text, note.text);
        exit(99);
    }
    s->nodes[at].topo = s->topos[at];
}

static void add_rank(struct scene *s, const char *word, char how, int gpu)
{
    struct jp_label_rank *r = &s->ranks[s->n_ranks];
    char *host = s->hosts[s->n_ranks];

    if (s->n_ranks == MAX_RANKS)
        exit(99);
    *r = (struct jp_label_rank){.rank = (uint32_t) s->n_ranks,
                                .node = *word == '-' ? -1 : *word - 'A',
                                .gpu = how == '?' ? -1 : gpu,
                                .sure = how == ':' || how == '%',
                                .mig = how == '%'};
    if (word[1] == '/')
        snprintf(host, 16, "%.*s", (int) strcspn(word + 2, ":~?%"), word + 2);
    else
        snprintf(host, 16, "%c", *word);
    r->host = host;
    s->n_ranks++;
}

/* "0-3,5" after the sign; after '?' a number of ranks. */
static void add_ranks(struct scene *s, const char *word)
{
    const char *sign = strpbrk(word + 1, ":~?%");
    char *rest;

    if (!sign)
        exit(99);
    if (*sign == '?') {
        for (long i = strtol(sign + 1, NULL, 10); i > 0; i--)
            add_rank(s, word, '?', -1);
        return;
    }
    for (const char *c = sign + 1;; c = rest + 1) {
        long from = strtol(c, &rest, 10);
        long to = *rest == '-' ? strtol(rest + 1, &rest, 10) : from;

        for (; from <= to; from++)
            add_rank(s, word, *sign, (int) from);
        if (*rest != ',')
            return;
    }
}

static void each_word(struct scene *s, const char *text,
                      void (*add)(struct scene *, const char *))
{
    char buf[400], *rest = buf, *word;

    snprintf(buf, sizeof(buf), "%s", text);
    while ((word = strsep(&rest, " ")))
        if (*word)
            add(s, word);
}

static const char *type_of(uint32_t ranks, uint32_t nodes)
{
    return ranks == 1       ? "single-rank"
           : nodes == 1     ? "nvlink-only"
           : nodes == ranks ? "hca-only"
                            : "mixed";
}

/* The kinds of the warnings, each once, in the order in which they were found.
 */
static void list_kinds(const struct jp_label *label, char *buf, size_t size)
{
    size_t n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < label->n_warnings; i++) {
        const char *word = label_warning_word[label->warnings[i].kind];

        if (!strstr(buf, word))
            n += (size_t) snprintf(buf + n, size - n, "%s%s", n ? " " : "",
                                   word);
    }
}

static bool check(size_t number, const struct label_row *row,
                  const struct jp_label *label,
                  const struct jp_label_node *nodes, uint32_t n_ranks)
{
    char got[200], kinds[300], text[600];
    bool same;

    snprintf(got, sizeof(got), "%s %s %s %s %s %s",
             type_of(n_ranks, row->nnodes), label_fabric_word[label->fabric],
             label_inter_word[label->inter], label_rail_word[label->rail],
             *label->hca_path ? label->hca_path : "-",
             label_evidence_word[label->evidence]);
    list_kinds(label, kinds, sizeof(kinds));
    same = strcmp(got, row->label) == 0 &&
           strcmp(kinds, row->warnings ? row->warnings : "") == 0;
    printf("%sok %zu - %s: %s\n", same ? "" : "not ", number, row->name, got);
    printf("#   why: %s\n", label->why);
    for (size_t i = 0; i < label->n_warnings; i++)
        printf(
            "#   %s: %s\n", label_warning_word[label->warnings[i].kind],
            label_warning_text(&label->warnings[i], nodes, text, sizeof(text)));
    if (!same)
        printf("#   wanted: %s [%s]\n", row->label,
               row->warnings ? row->warnings : "");
    return same;
}

static void free_scene(struct scene *s)
{
    for (size_t i = 0; i < s->n_nodes; i++)
        topo_destroy(s->topos[i]);
    free(s);
}

static bool run(size_t number, const struct label_row *row)
{
    struct scene *s = calloc(1, sizeof(*s));
    struct jp_label_comm comm = {.nnodes = row->nnodes,
                                 .collective = !row->p2p_only,
                                 .guessed = row->guessed,
                                 .paths = row->paths};
    struct jp_label label;
    bool good = true;

    if (!s)
        exit(99);
    each_word(s, row->nodes, add_node);
    each_word(s, row->ranks, add_ranks);
    comm.ranks = s->ranks;
    comm.n = s->n_ranks;
    comm.n_ranks = row->n_ranks ? row->n_ranks : (uint32_t) s->n_ranks;
    if (row->variable.name) {
        comm.variables = &row->variable;
        comm.n_variables = 1;
    }
    if (s->skipped) {
        printf("ok %zu - %s # SKIP no sample\n", number, row->name);
    } else if (label_comm(&comm, s->nodes, s->n_nodes, &label) < 0) {
        good = false;
    } else {
        good = check(number, row, &label, s->nodes, comm.n_ranks);
        label_fini(&label);
    }
    free_scene(s);
    return good;
}

static bool check_hcas(size_t number, const struct hca_row *row)
{
    uint32_t ports = label_hca_ports(row->value, row->name);

    printf("%sok %zu - NCCL_IB_HCA=%s and %s: 0x%x\n",
           ports == row->ports ? "" : "not ", number, row->value, row->name,
           ports);
    return ports == row->ports;
}

int main(void)
{
    bool good = true;

    printf("1..%zu\n", n_label_rows + n_hca_rows);
    for (size_t i = 0; i < n_label_rows; i++)
        good &= run(i + 1, &label_rows[i]);
    for (size_t i = 0; i < n_hca_rows; i++)
        good &= check_hcas(n_label_rows + i + 1, &hca_rows[i]);
    return !good;
}
