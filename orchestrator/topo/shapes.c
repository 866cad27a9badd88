/* shapes.c - the nodes of a job, grouped by their distinct shapes.
 *
 * Two parts: node names folded into ranges ("n[01-16]"), and the set of shapes
 * (find_or_add, shapes_add). */
#include "orchestrator/topo/shapes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/fnv.h"
#include "common/vector.h"

/* A name, split into its text and the number at its end. */
struct part {
    const char *name;
    size_t prefix, digits; /* lengths */
    uint64_t number;       /* of the digits, which fit into 64 bits */
};

/* Splits a name at its last digits, at most 18 of them. */
static void take_apart(const char *name, struct part *part)
{
    size_t len = strlen(name), at = len;

    /* 18 digits fit into 64 bits. */
    while (at && len - at < 18 && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    *part = (struct part){.name = name, .prefix = at, .digits = len - at};
    for (; at < len; at++)
        part->number = part->number * 10 + (unsigned) (name[at] - '0');
}

/* By text, then number of digits, then number: names of one bracket become
 * neighbours. */
static int by_name(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    size_t n = x->prefix < y->prefix ? x->prefix : y->prefix;
    int order = strncmp(x->name, y->name, n);

    if (!order && x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    if (!order && x->digits != y->digits)
        return x->digits < y->digits ? -1 : 1;
    if (order)
        return order;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Whether both fit into the same bracket. */
static bool alike(const struct part *a, const struct part *b)
{
    return a->digits && a->digits == b->digits && a->prefix == b->prefix &&
           strncmp(a->name, b->name, a->prefix) == 0;
}

/* Writes parts[0..n), which are alike, as one bracket of ranges. */
static void write_ranges(const struct part *parts, size_t n, FILE *out)
{
    fprintf(out, "%.*s", (int) parts->prefix, parts->name);
    if (n == 1) {
        fputs(parts->name + parts->prefix, out);
        return;
    }
    fputc('[', out);
    for (size_t i = 0, k; i < n; i = k) {
        /* Consecutive and equal numbers form one range. */
        for (k = i + 1; k < n && parts[k].number <= parts[k - 1].number + 1;)
            k++;
        fprintf(out, "%s%s", i ? "," : "", parts[i].name + parts[i].prefix);
        if (parts[k - 1].number > parts[i].number)
            fprintf(out, "-%s", parts[k - 1].name + parts[k - 1].prefix);
    }
    fputc(']', out);
}

/* Writes all names; neighbours that are alike share a bracket. */
static char *write_all(const struct part *parts, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0, k; i < n; i = k) {
        /* [i, k) shares a bracket. */
        for (k = i + 1; k < n && alike(&parts[i], &parts[k]);)
            k++;
        if (i)
            fputc(',', out);
        write_ranges(&parts[i], k - i, out);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Sorts by text and number, then writes. */
char *shapes_fold(const struct jp_shapes *s, const uint32_t *nodes, size_t n,
                  size_t max)
{
    struct part *parts = calloc(n + 1, sizeof(*parts));
    char *text = NULL;

    for (size_t i = 0; parts && i < n; i++)
        take_apart(s->nodes[nodes[i]].name, &parts[i]);
    if (parts) {
        qsort(parts, n, sizeof(*parts), by_name);
        text = write_all(parts, n);
    }
    /* Truncated, with "..." as its end. */
    if (text && strlen(text) > max && max > 3)
        memcpy(text + max - 3, "...", 4);
    free(parts);
    return text;
}

/* Collects the shape's nodes, and folds their names. */
char *shapes_names(const struct jp_shapes *s, int shape, size_t max)
{
    uint32_t *nodes = calloc(s->n_nodes + 1, sizeof(*nodes));
    char *text;
    size_t n = 0;

    for (size_t i = 0; nodes && i < s->n_nodes; i++)
        if (s->nodes[i].shape == shape)
            nodes[n++] = (uint32_t) i;
    text = nodes ? shapes_fold(s, nodes, n, max) : NULL;
    free(nodes);
    return text;
}

/* --------------------------- the shapes */

/* Frees what a node owns. */
static void fini_node(struct jp_shape_node *node)
{
    free(node->name);
    free(node->gpus);
    free(node->why);
    free(node->note);
}

/* Shapes own their topologies. */
void shapes_fini(struct jp_shapes *shapes)
{
    for (size_t i = 0; i < shapes->n_nodes; i++)
        fini_node(&shapes->nodes[i]);
    for (size_t i = 0; i < shapes->n_shapes; i++) {
        topo_destroy(shapes->shapes[i].topo);
        free(shapes->shapes[i].key);
    }
    free(shapes->nodes);
    free(shapes->shapes);
    memset(shapes, 0, sizeof(*shapes));
}

/* Users see the hash of the key, so the members and their order are part of an
 * output. */
static void write_gpu(const struct topo_gpu *g, FILE *out)
{
    fprintf(out, "g %s %x %d %s %d %d %d %d %u %u %" PRIu64 " %d %d\n",
            g->busid, g->device, g->vendor, g->model, g->package, g->nvml,
            g->links, g->links_from, g->links_up, g->links_down, g->switch_mbs,
            g->mig, g->c2c);
}

/* Everything of a topology except what differs between equal machines. Two
 * nodes have the same shape if their keys are equal. UUIDs, minors and fabrics
 * are left out. */
static char *make_key(const struct topo *t, size_t *len)
{
    size_t n = t->n_gpus + t->n_hcas;
    char *text = NULL;
    FILE *out = open_memstream(&text, len);

    if (!out)
        return NULL;
    /* The machine, then GPUs, HCAs, levels and links. */
    fprintf(out, "%s %d %u %u %u %d %d\n", t->product, t->virtual_machine,
            t->n_numa, t->n_packages, t->n_switches, t->has_pci,
            t->hcas_untold);
    for (size_t i = 0; i < t->n_gpus; i++)
        write_gpu(&t->gpus[i], out);
    for (size_t i = 0; i < t->n_hcas; i++)
        fprintf(out, "h %s %s %d %d %g %d %d\n", t->hcas[i].name,
                t->hcas[i].busid, t->hcas[i].net, t->hcas[i].port,
                t->hcas[i].rate_gbits, t->hcas[i].package, t->hcas[i].narrow);
    fwrite(t->level, 1, n * n, out);
    fwrite(t->direct, sizeof(*t->direct), t->n_gpus * t->n_gpus, out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Finds or adds the shape of topo, which is taken over. Returns its index, or
 * -1 without memory. */
static int find_or_add(struct jp_shapes *s, struct topo *topo)
{
    struct jp_shape shape = {.topo = topo};

    /* The hash only saves comparing the keys. */
    shape.key = make_key(topo, &shape.key_len);
    if (!shape.key)
        goto fail;
    /* It is printed, so it must be the same in every run. */
    shape.hash = fnv_bytes(FNV_START, shape.key, shape.key_len);
    for (size_t i = 0; i < s->n_shapes; i++) {
        struct jp_shape *other = &s->shapes[i];

        if (other->hash == shape.hash && other->key_len == shape.key_len &&
            memcmp(other->key, shape.key, shape.key_len) == 0) {
            other->n_nodes++;
            free(shape.key);
            topo_destroy(topo);
            return (int) i;
        }
    }
    if (VECTOR_ROOM(s->shapes, s->n_shapes + 1, s->shape_room) < 0)
        goto fail;
    shape.n_nodes = 1;
    s->shapes[s->n_shapes] = shape;
    return (int) s->n_shapes++;
fail:
    free(shape.key);
    topo_destroy(topo);
    return -1;
}

/* Copies what distinguishes the GPUs of this node. */
static struct topo_self *selves_of(const struct topo *topo)
{
    struct topo_self *gpus = calloc(topo->n_gpus + 1, sizeof(*gpus));

    for (size_t i = 0; gpus && i < topo->n_gpus; i++)
        gpus[i] = topo->gpus[i].self;
    return gpus;
}

/* A node's records. */
struct texts {
    char *xml; /* taken over, as is nccl */
    size_t len;
    char *nccl; /* NCCL's own file; NULL: none */
    size_t nccl_len;
    const char *hardware; /* NULL: none */
    const char *why;      /* why there is no xml */
};

/* Makes the node's topology, or the reason why there is none. Returns -1
 * without memory. */
static int fill_node(struct jp_shapes *s, struct jp_shape_node *node,
                     struct texts *in)
{
    struct jp_error note = {""}, err = {""}, left = {""};
    bool xml = in->xml;
    struct topo *nccl = in->nccl ? topo_make(in->nccl, in->nccl_len, &left)
                                 : NULL;
    struct topo *topo = in->xml        ? topo_make(in->xml, in->len, &err)
                        : nccl         ? nccl
                        : in->hardware ? topo_bare(in->hardware, NULL)
                                       : NULL;

    /* topo_make has taken them over, also on failure. */
    in->xml = in->nccl = NULL;
    if (in->hardware)
        topo_hardware(in->hardware, topo, &node->host, &note);
    /* NCCL's levels are better than those of a hypervisor's PCI tree. */
    if (topo && nccl && topo != nccl)
        topo_prefer(topo, nccl, &left);
    if (topo != nccl)
        topo_destroy(nccl);
    if (!*note.text && *left.text)
        error_set(&note, "nccl-topo.xml: %s", left.text);
    if (*note.text && !(node->note = strdup(note.text))) {
        topo_destroy(topo);
        return -1;
    }
    if (topo && !xml &&
        !topo->n_gpus) { /* a record without GPUs is no topology */
        topo_destroy(topo);
        topo = NULL;
    }
    if (!topo) {
        node->why = xml ? text_format("its topology.xml is bad: %s", err.text)
                        : strdup(in->why ? in->why : "no topology.xml");
        return node->why ? 0 : -1;
    }
    node->gpus = selves_of(topo);
    /* The copy is made first: find_or_add may free topo. */
    node->shape = find_or_add(s, topo);
    return node->gpus && node->shape >= 0 ? 0 : -1;
}

/* Adds a node; its texts are taken over, also on failure. */
static int add_node(struct jp_shapes *s, const char *name, struct texts *in,
                    struct jp_error *err)
{
    struct jp_shape_node node = {.name = strdup(name), .shape = -1};

    if (!node.name || VECTOR_ROOM(s->nodes, s->n_nodes + 1, s->node_room) < 0) {
        free(in->xml);
        free(in->nccl);
        free(node.name);
        return error_set(err, "out of memory");
    }
    /* Undo what fill has counted. */
    if (fill_node(s, &node, in) < 0) {
        if (node.shape >= 0)
            s->shapes[node.shape].n_nodes--;
        fini_node(&node);
        return error_set(err, "out of memory");
    }
    s->nodes[s->n_nodes++] = node;
    return 0;
}

/* The node's texts come from the caller, not from files. */
int shapes_add(struct jp_shapes *s, const char *name, char *xml, size_t len,
               const char *hardware, const char *why, struct jp_error *err)
{
    struct texts in = {
        .xml = xml, .len = len, .hardware = hardware, .why = why};

    return add_node(s, name, &in, err);
}

/* Reads <folder>/<name>; errno is that of the read. */
static int read_text(const char *folder, const char *name, size_t max,
                     char **text, size_t *len, struct jp_error *err)
{
    char *path = text_format("%s/%s", folder, name);
    int rc = path ? fileio_read(path, false, max, text, len, err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* Notes a hardware.json that exists but cannot be read. The folder's name is
 * removed: the caller knows it. */
static int note_unread(struct jp_shape_node *node, const char *folder,
                       const struct jp_error *unread)
{
    size_t len = strlen(folder);
    bool inside = strncmp(unread->text, folder, len) == 0 &&
                  unread->text[len] == '/';

    node->note = strdup(unread->text + (inside ? len + 1 : 0));
    return node->note ? 0 : -1;
}

/* What cannot be read never makes this fail. */
int shapes_add_folder(struct jp_shapes *s, const char *name, const char *folder,
                      const char *step, struct jp_error *err)
{
    struct texts in = {0};
    char *hardware = NULL;
    struct jp_error why = {""}, unread = {""};
    bool absent;
    int rc;

    /* errno distinguishes an absent file, which is normal, from an unreadable
     * one. */
    errno = 0;
    if (read_text(folder, "hardware.json", SHAPES_MAX_JSON, &hardware, NULL,
                  &unread) == 0 ||
        errno == ENOENT)
        unread.text[0] = '\0';
    errno = 0;
    absent = read_text(folder, "topology.xml", SHAPES_MAX_XML, &in.xml, &in.len,
                       &why) < 0 &&
             errno == ENOENT;
    in.hardware = hardware;
    in.why = absent ? "it wrote no topology.xml" : why.text;
    /* The step's own file of NCCL comes first, then that of the job. */
    if (!step || read_text(step, SHAPES_NCCL_FILE, SHAPES_MAX_NCCL, &in.nccl,
                           &in.nccl_len, NULL) < 0)
        (void) read_text(folder, SHAPES_NCCL_FILE, SHAPES_MAX_NCCL, &in.nccl,
                         &in.nccl_len, NULL);
    rc = add_node(s, name, &in, err);
    free(hardware);
    if (rc == 0 && *unread.text &&
        note_unread(&s->nodes[s->n_nodes - 1], folder, &unread) < 0)
        rc = error_set(err, "out of memory");
    return rc;
}

/* Most nodes first; then in order of appearance, to keep the result stable. */
static int by_nodes(const void *a, const void *b)
{
    const struct jp_shape *const *x = a, *const *y = b;

    if ((*x)->n_nodes != (*y)->n_nodes)
        return (*x)->n_nodes > (*y)->n_nodes ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* Sorts pointers, then moves the shapes and renumbers the nodes. */
int shapes_sort(struct jp_shapes *s, struct jp_error *err)
{
    struct jp_shape **order = calloc(s->n_shapes + 1, sizeof(*order));
    struct jp_shape *sorted = calloc(s->n_shapes + 1, sizeof(*sorted));
    int *place = calloc(s->n_shapes + 1, sizeof(*place));
    int rc = order && sorted && place ? 0 : error_set(err, "out of memory");

    for (size_t i = 0; rc == 0 && i < s->n_shapes; i++)
        order[i] = &s->shapes[i];
    if (rc == 0 && s->n_shapes)
        qsort(order, s->n_shapes, sizeof(*order), by_nodes);
    for (size_t i = 0; rc == 0 && i < s->n_shapes; i++) {
        sorted[i] = *order[i];
        /* place[] is the new index of each old one. */
        place[order[i] - s->shapes] = (int) i;
    }
    for (size_t i = 0; rc == 0 && i < s->n_nodes; i++)
        if (s->nodes[i].shape >= 0)
            s->nodes[i].shape = place[s->nodes[i].shape];
    if (rc == 0 && s->n_shapes)
        memcpy(s->shapes, sorted, s->n_shapes * sizeof(*sorted));
    free(order);
    free(sorted);
    free(place);
    return rc;
}

/* Bijective base 26: after "Z" comes "AA". */
char *shapes_letter(size_t shape, char buf[8])
{
    char text[8];
    size_t n = 0;

    do {
        text[n++] = (char) ('A' + shape % 26);
        shape /= 26;
    } while (shape-- && n < sizeof(text) - 1);
    for (size_t i = 0; i < n; i++)
        buf[i] = text[n - 1 - i];
    buf[n] = '\0';
    return buf;
}
