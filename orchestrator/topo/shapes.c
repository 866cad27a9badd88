/* shapes.c - the nodes of a job, by their distinct shapes. */
#include "orchestrator/topo/shapes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"

void shapes_init(struct jp_shapes *shapes)
{
    memset(shapes, 0, sizeof(*shapes));
}

static void fini_node(struct jp_shape_node *node)
{
    free(node->name);
    free(node->gpus);
    free(node->why);
    free(node->note);
}

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
    shapes_init(shapes);
}

static void write_gpu(const struct topo_gpu *g, FILE *out)
{
    fprintf(out, "g %s %x %d %s %d %d %d %d %u %u %" PRIu64 " %d %d\n",
            g->busid, g->device, g->vendor, g->model, g->package, g->nvml,
            g->links, g->links_from, g->links_up, g->links_down, g->switch_mbs,
            g->mig, g->c2c);
}

/* All of a topology but what tells equal machines apart. */
static char *make_key(const struct topo *t, size_t *len)
{
    size_t n = t->n_gpus + t->n_hcas;
    char *text = NULL;
    FILE *out = open_memstream(&text, len);

    if (!out)
        return NULL;
    fprintf(out, "%s %d %u %u %u %d %d\n", t->product, t->virtual_machine,
            t->n_numa, t->n_packages, t->n_switches, t->has_pci,
            t->hcas_untold);
    for (size_t i = 0; i < t->n_gpus; i++)
        write_gpu(&t->gpus[i], out);
    for (size_t i = 0; i < t->n_hcas; i++)
        fprintf(out, "h %s %s %d %d %g %d\n", t->hcas[i].name, t->hcas[i].busid,
                t->hcas[i].net, t->hcas[i].port, t->hcas[i].rate_gbits,
                t->hcas[i].package);
    fwrite(t->level, 1, n * n, out);
    fwrite(t->direct, sizeof(*t->direct), t->n_gpus * t->n_gpus, out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* FNV-1a */
static uint64_t hash_of(const char *key, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char) key[i]) * 0x100000001b3u;
    return hash;
}

static int grow(void **array, size_t n, size_t *room, size_t size)
{
    void *more;

    if (n < *room)
        return 0;
    more = realloc(*array, (*room * 2 + 16) * size);
    if (!more)
        return -1;
    *array = more;
    *room = *room * 2 + 16;
    return 0;
}

/* The shape that topo has; topo is taken over. -1 without memory. */
static int find_or_add(struct jp_shapes *s, struct topo *topo)
{
    struct jp_shape shape = {.topo = topo};

    shape.key = make_key(topo, &shape.key_len);
    if (!shape.key)
        goto fail;
    shape.hash = hash_of(shape.key, shape.key_len);
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
    if (grow((void **) &s->shapes, s->n_shapes, &s->shape_room,
             sizeof(*s->shapes)) < 0)
        goto fail;
    shape.n_nodes = 1;
    s->shapes[s->n_shapes] = shape;
    return (int) s->n_shapes++;
fail:
    free(shape.key);
    topo_destroy(topo);
    return -1;
}

static struct topo_self *selves_of(const struct topo *topo)
{
    struct topo_self *gpus = calloc(topo->n_gpus + 1, sizeof(*gpus));

    for (size_t i = 0; gpus && i < topo->n_gpus; i++)
        gpus[i] = topo->gpus[i].self;
    return gpus;
}

/* The node's topology, or its reason. -1 without memory. */
static int fill(struct jp_shapes *s, struct jp_shape_node *node, char *xml,
                size_t len, const char *hardware, const char *why)
{
    struct jp_error note = {""}, err = {""};
    struct topo *topo = xml        ? topo_make(xml, len, &err)
                        : hardware ? topo_bare(hardware, NULL)
                                   : NULL;

    if (hardware && topo_hardware(hardware, topo, &node->host, &note) < 0 &&
        !(node->note = strdup(note.text))) {
        topo_destroy(topo);
        return -1;
    }
    if (topo && !xml && !topo->n_gpus) { /* it tells nothing */
        topo_destroy(topo);
        topo = NULL;
    }
    if (!topo) {
        node->why = xml ? fileio_path("its topology.xml is bad: %s", err.text)
                        : strdup(why ? why : "no topology.xml");
        return node->why ? 0 : -1;
    }
    node->gpus = selves_of(topo);
    node->shape = find_or_add(s, topo);
    return node->gpus && node->shape >= 0 ? 0 : -1;
}

int shapes_add(struct jp_shapes *s, const char *name, char *xml, size_t len,
               const char *hardware, const char *why, struct jp_error *err)
{
    struct jp_shape_node node = {.name = strdup(name), .shape = -1};

    if (!node.name || grow((void **) &s->nodes, s->n_nodes, &s->node_room,
                           sizeof(*s->nodes)) < 0) {
        free(xml);
        free(node.name);
        return error_set(err, "out of memory");
    }
    if (fill(s, &node, xml, len, hardware, why) < 0) {
        if (node.shape >= 0)
            s->shapes[node.shape].n_nodes--;
        fini_node(&node);
        return error_set(err, "out of memory");
    }
    s->nodes[s->n_nodes++] = node;
    return 0;
}

static int read_text(const char *folder, const char *name, size_t max,
                     char **text, size_t *len, struct jp_error *err)
{
    char *path = fileio_path("%s/%s", folder, name);
    int rc = path ? fileio_read(path, false, max, text, len, err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* A hardware.json that is there and cannot be read is told; the folder is
 * known to who asked. */
static int note_unread(struct jp_shape_node *node, const char *folder,
                       const struct jp_error *unread)
{
    size_t len = strlen(folder);
    bool inside = strncmp(unread->text, folder, len) == 0 &&
                  unread->text[len] == '/';

    node->note = strdup(unread->text + (inside ? len + 1 : 0));
    return node->note ? 0 : -1;
}

int shapes_add_folder(struct jp_shapes *s, const char *name, const char *folder,
                      struct jp_error *err)
{
    char *xml = NULL, *hardware = NULL;
    struct jp_error why = {""}, unread = {""};
    size_t len = 0;
    bool absent;
    int rc;

    errno = 0;
    if (read_text(folder, "hardware.json", SHAPES_MAX_JSON, &hardware, NULL,
                  &unread) == 0 ||
        errno == ENOENT)
        unread.text[0] = '\0';
    errno = 0;
    absent = read_text(folder, "topology.xml", SHAPES_MAX_XML, &xml, &len,
                       &why) < 0 &&
             errno == ENOENT;
    rc = shapes_add(s, name, xml, len, hardware,
                    absent ? "it left no topology.xml" : why.text, err);
    free(hardware);
    if (rc == 0 && *unread.text &&
        note_unread(&s->nodes[s->n_nodes - 1], folder, &unread) < 0)
        rc = error_set(err, "out of memory");
    return rc;
}

static int by_nodes(const void *a, const void *b)
{
    const struct jp_shape *const *x = a, *const *y = b;

    if ((*x)->n_nodes != (*y)->n_nodes)
        return (*x)->n_nodes > (*y)->n_nodes ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

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
