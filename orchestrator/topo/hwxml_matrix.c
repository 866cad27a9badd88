/* hwxml_matrix.c - the matrix of NVLink bandwidths in hwloc's XML. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/hwxml_parts.h"

#define KIND_FROM_USER 2 /* hwloc_distances_kind_e */

/* One matrix while its lists are read. */
struct matrix_reader {
    struct hwxml *xml;
    uint64_t *index; /* gp_index of each object */
    size_t n, n_index, n_values;
    uint64_t *values;
};

static int compare(const void *a, const void *b)
{
    const struct hwxml_object *const *x = a, *const *y = b;

    return (*x)->gp_index < (*y)->gp_index   ? -1
           : (*x)->gp_index > (*y)->gp_index ? 1
                                             : 0;
}

/* Names the objects of the matrix by their gp_index. */
static int find_objects(struct matrix_reader *m, struct jp_error *err)
{
    struct hwxml *xml = m->xml;
    const struct hwxml_object **sorted =
        calloc(xml->n_objects, sizeof(struct hwxml_object *));

    if (!sorted)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < xml->n_objects; i++)
        sorted[i] = &xml->objects[i];
    qsort(sorted, xml->n_objects, sizeof(*sorted), compare);
    for (size_t i = 0; i < m->n; i++) {
        const struct hwxml_object key = {.gp_index = m->index[i]};
        const struct hwxml_object *wanted = &key;
        const struct hwxml_object **hit =
            bsearch(&wanted, sorted, xml->n_objects, sizeof(*sorted), compare);

        xml->matrix.object[i] = hit ? (int) (*hit - xml->objects) : -1;
    }
    free(sorted);
    return 0;
}

/* "OSDev:42 PCIDev:24 " or "29 32 41 " */
static int take_indexes(struct matrix_reader *m, const char *text)
{
    while (*(text += strspn(text, " \t\r\n"))) {
        size_t name = strcspn(text, ": \t\r\n");

        if (text[name] == ':')
            text += name + 1;
        if (m->n_index == m->n)
            return -1;
        text = hwxml_number(text, 10, UINT64_MAX, &m->index[m->n_index]);
        if (!text)
            return -1;
        m->n_index++;
    }
    return 0;
}

static int take_values(struct matrix_reader *m, const char *text)
{
    while (*(text += strspn(text, " \t\r\n"))) {
        if (m->n_values == m->n * m->n)
            return -1;
        text = hwxml_number(text, 10, UINT64_MAX, &m->values[m->n_values]);
        if (!text)
            return -1;
        m->n_values++;
    }
    return 0;
}

/* Reads to the element's close. m->n 0: only passes over it. */
static int read_lists(struct matrix_reader *m, struct xmlscan *scan,
                      struct jp_error *err)
{
    unsigned depth = scan->depth;
    enum { NEITHER, INDEXES, VALUES } list = NEITHER;

    for (;;) {
        enum xmlscan_event event = xmlscan_next(scan, err);
        int rc = 0;

        if (event <= XMLSCAN_END)
            return -1;
        if (event == XMLSCAN_CLOSE && scan->depth == depth)
            return 0;
        if (event == XMLSCAN_OPEN)
            list = strcmp(scan->name, "indexes") == 0     ? INDEXES
                   : strcmp(scan->name, "u64values") == 0 ? VALUES
                                                          : NEITHER;
        else if (event == XMLSCAN_CLOSE)
            list = NEITHER;
        else if (m->n && list == INDEXES)
            rc = take_indexes(m, scan->text);
        else if (m->n && list == VALUES)
            rc = take_values(m, scan->text);
        if (rc < 0)
            return error_set(err, "NVLinkBandwidth: a bad or surplus number");
    }
}

static int keep(struct matrix_reader *m, struct jp_error *err)
{
    struct hwxml_matrix *matrix = &m->xml->matrix;

    if (m->n_index != m->n || m->n_values != m->n * m->n)
        return error_set(err,
                         "NVLinkBandwidth: %zu objects, but %zu indexes "
                         "and %zu values",
                         m->n, m->n_index, m->n_values);
    if (find_objects(m, err) < 0)
        return -1;
    matrix->n = m->n;
    matrix->value = m->values;
    m->values = NULL;
    m->xml->has_matrix = true;
    return 0;
}

/* Objects of the matrix, or 0: it is none of NVLink, or there was one. */
static int size_of(const struct hwxml *xml, const struct xmlscan *scan,
                   size_t *n, struct jp_error *err)
{
    const char *name = xmlscan_attr(scan, "name");
    const char *number = xmlscan_attr(scan, "nbobjs");
    const char *indexing = xmlscan_attr(scan, "indexing");
    uint64_t value = 0;

    *n = 0;
    if (!name || strcmp(name, "NVLinkBandwidth") != 0 || xml->has_matrix)
        return 0;
    if (!number || !hwxml_number(number, 10, HWXML_MAX_MATRIX, &value))
        return error_set(err, "NVLinkBandwidth: not 0 to %d objects",
                         HWXML_MAX_MATRIX);
    if (indexing && strcmp(indexing, "gp") != 0)
        return error_set(err, "NVLinkBandwidth: not indexed by gp_index");
    *n = value;
    return 0;
}

int hwxml_read_matrix(struct hwxml *xml, struct xmlscan *scan,
                      struct jp_error *err)
{
    const char *kind = xmlscan_attr(scan, "kind");
    struct matrix_reader m = {.xml = xml};
    uint64_t bits = 0;
    int rc = -1;

    if (size_of(xml, scan, &m.n, err) < 0)
        return -1;
    if (kind && hwxml_number(kind, 10, 1 << 16, &bits) && m.n)
        xml->matrix.by_user = bits & KIND_FROM_USER;
    if (m.n && !xml->n_objects)
        return error_set(err, "NVLinkBandwidth before all objects");
    m.index = calloc(m.n + 1, sizeof(*m.index));
    m.values = calloc(m.n * m.n + 1, sizeof(*m.values));
    if (!m.index || !m.values)
        error_set(err, "out of memory");
    else
        rc = read_lists(&m, scan, err);
    if (rc == 0 && m.n)
        rc = keep(&m, err);
    free(m.index);
    free(m.values);
    return rc;
}
