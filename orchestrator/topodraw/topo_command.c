/* topo_command.c - `jobprof topo`: show the nodes' GPUs and HCAs and their
 * connections.
 *
 * Nodes with equal hardware are one shape (topo/shapes.h). This file finds the
 * nodes' records below a path that the user names (find_shapes), and prints the
 * shapes as text, JSON or pictures. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "orchestrator/agent/nodehw.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/topo/sysfile.h"
#include "orchestrator/topodraw/topodraw.h"

/* More shapes than this are not drawn. */
#define MAX_PICTURES 100

struct arguments {
    const char *pictures;
    struct cmd_common common;
};

static const struct cmd_option rows[] = {
    {"json", NULL, "print JSON", OPT_FLAG(common.json)},
    {"svg", "DIR",
     "also write a picture of each type: DIR/shape-A.svg and so on",
     OPT_WORD(pictures)},
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"quiet", NULL, "do not report nodes without a topology", OPT_QUIET},
};

static const struct cmd_options command_line = {
    .command = "topo",
    .about =
        "usage: jobprof topo [options] [XML|DIR|JOBID[.STEP]]\n\n"
        "Show each distinct type of node: its GPUs, HCAs and the "
        "connections between them as in nvidia-smi topo -m, each GPU's "
        "nearest HCA, and anomalies. XML is an hwloc file (lstopo "
        "--whole-io FILE.xml), or NCCL's or RCCL's topology file. DIR is a "
        "job's or a step's directory, or a folder of such files. Without "
        "either, this machine is shown.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 3 a record is bad or missing (the rest "
           "is shown), 4 no topology, 5 input or output failed.\n",
    .most = 1,
    .need = "needs one XML, DIR or JOBID[.STEP], or none",
};

/* Adds this machine: writes its topology to a temporary folder, as a job's node
 * would, and reads it back. Returns 1, or -1 and err. */
static long add_this_machine(struct jp_shapes *shapes, struct jp_error *err)
{
    char folder[] = "/tmp/jobprof-topo-XXXXXX", name[65] = "";
    const struct jp_nodehw job = {.folder = folder, .node = name};
    int rc = -1;

    /* the name becomes a column */
    if (gethostname(name, sizeof(name) - 1) < 0 || !*name)
        snprintf(name, sizeof(name), "localhost");
    if (!mkdtemp(folder))
        return error_set(err, "%s: %s", folder, strerror(errno));
    nodehw_init();
    if (nodehw_make(&job, err) == 0)
        rc = shapes_add_folder(shapes, name, folder, NULL, err);
    fileio_remove_tree(folder, NULL);
    return rc < 0 ? -1 : 1;
}

/* --- the topologies below a user's path --- */

#define MAX_ENTRIES 100000

/* A link to a folder does not count. */
static bool is_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_xml(const char *name)
{
    size_t len = strlen(name);

    return len > 4 && strcmp(name + len - 4, ".xml") == 0;
}

/* A file becomes a node with the file's base name. */
static int add_file(struct jp_shapes *shapes, const char *path,
                    struct jp_error *err)
{
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash ? slash + 1 : path), *xml = NULL;
    struct jp_error why = {""};
    size_t len = 0;
    int rc;

    if (!name)
        return error_set(err, "out of memory");
    if (is_xml(name))
        name[strlen(name) - 4] = '\0';
    fileio_read(path, true, SHAPES_MAX_XML, &xml, &len, &why);
    rc = shapes_add(shapes, name, xml, len, NULL, why.text, err);
    free(name);
    return rc;
}

/* A folder whose entries are added. */
struct adding {
    struct jp_shapes *shapes;
    const char *folder;
    struct jp_error *err;
    long added; /* entries so far */
};

/* For sysfile_each: adds one entry if it is a node. Returns 0, or -1 and err.
 */
static int add_entry(void *arg, int fd, const char *name)
{
    struct adding *a = arg;
    char *path = text_format("%s/%s", a->folder, name);
    char *xml = path ? text_format("%s/topology.xml", path) : NULL;
    char *json = path ? text_format("%s/hardware.json", path) : NULL;
    struct stat st;
    int rc = 0;

    (void) fd;
    if (!path || !xml || !json)
        rc = error_set(a->err, "out of memory");
    else if (is_folder(path) && (lstat(xml, &st) == 0 || lstat(json, &st) == 0))
        rc = shapes_add_folder(a->shapes, name, path, NULL, a->err) < 0 ? -1
                                                                        : 1;
    else if (is_xml(name) && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        rc = add_file(a->shapes, path, a->err) < 0 ? -1 : 1;
    free(path);
    free(xml);
    free(json);
    a->added += rc > 0;
    return rc < 0 ? -1 : 0;
}

/* Adds each entry of a folder. Returns the number added, or -1 and err. */
static long add_folder(struct jp_shapes *shapes, const char *folder,
                       struct jp_error *err)
{
    struct adding a = {.shapes = shapes, .folder = folder, .err = err};
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, "%s: %s", folder, strerror(errno));
    if (sysfile_each(fd, MAX_ENTRIES, add_entry, &a, NULL) == 0)
        return a.added;
    /* without memory for the names there is no error yet */
    return *err->text ? -1 : error_set(err, "out of memory");
}

/* Adds what path contains: an XML file; a job's directory (nodes/<node>/), or a
 * step's directory in it; a folder of such node folders; or a folder of .xml
 * files. Nodes are in order of name; links below path are not followed. Returns
 * the number of nodes added, 0 if there are none, or -1 and err. */
static long find_shapes(const char *path, struct jp_shapes *shapes,
                        struct jp_error *err)
{
    /* a job's directory first, then that of a step in it */
    static const char *const places[] = {"nodes", "../nodes"};
    struct stat st;
    long added = 0;

    if (stat(path, &st) < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    /* A file is a topology itself. */
    if (!S_ISDIR(st.st_mode))
        return add_file(shapes, path, err) < 0 ? -1 : 1;
    for (size_t i = 0; added == 0 && i < 2; i++) {
        char *nodes = text_format("%s/%s", path, places[i]);

        if (!nodes)
            return error_set(err, "out of memory");
        if (is_folder(nodes))
            added = add_folder(shapes, nodes, err);
        free(nodes);
    }
    return added ? added : add_folder(shapes, path, err);
}

/* --- what is printed --- */

/* Draws the shape with that index as folder/shape-LETTER.svg. */
static int write_picture(const struct jp_shapes *shapes, size_t at,
                         const char *folder, struct jp_error *err)
{
    char letter[8], title[200];
    /* the first nodes of the shape, for the title */
    char *names = shapes_names(shapes, (int) at, 80);
    char *path =
        text_format("%s/shape-%s.svg", folder, shapes_letter(at, letter));
    struct jp_tempfile file;
    int rc = -1;

    if (!names || !path) {
        error_set(err, "out of memory");
        goto out;
    }
    snprintf(title, sizeof(title), "shape %s  %s  %zu x: %s", letter,
             shapes->shapes[at].topo->product, shapes->shapes[at].n_nodes,
             names);
    if (fileio_temp_open_in(&file, path, OWNPLACE_ANY, err) < 0)
        goto out;
    topo_svg(shapes->shapes[at].topo, NULL, title, file.stream);
    rc = fileio_temp_commit(&file, err);
out:
    free(names);
    free(path);
    return rc;
}

/* Draws all shapes. Creates the folder. */
static int write_pictures(const struct jp_shapes *shapes, const char *folder,
                          struct jp_error *err)
{
    int fd = ownplace_make(folder, OWNPLACE_ANY, err);

    if (fd < 0)
        return -1;
    close(fd);
    if (ownplace_hold(folder, OWNPLACE_ANY, err) < 0)
        return -1;
    /* a hostile file could define very many */
    for (size_t i = 0; i < shapes->n_shapes && i < MAX_PICTURES; i++)
        if (write_picture(shapes, i, folder, err) < 0)
            return -1;
    return 0;
}

/* Prints all shapes as one JSON object, made harmless for a terminal. */
static int print_json(const struct jp_shapes *shapes, struct jp_error *err)
{
    /* names of devices and nodes are foreign text */
    FILE *out = quote_json_open(stdout);
    bool bad = !out || topo_json(shapes, out, NULL) < 0;

    if (out && fclose(out) != 0)
        bad = true;
    return bad ? error_set(err, "cannot be written") : 0;
}

/* Prints the nodes whose records are bad or missing. Returns an exit status. */
static int print_bad_nodes(const struct jp_shapes *shapes,
                           const struct arguments *a)
{
    int rc = JP_EXIT_OK;

    for (size_t i = 0; i < shapes->n_nodes; i++) {
        const struct jp_shape_node *node = &shapes->nodes[i];

        /* why: its record cannot be used; note: it was used in spite of a
         * problem */
        if (!node->why && !node->note)
            continue;
        if (!a->common.quiet)
            quote_printf(stderr, "jobprof: topo: %s: %s\n", node->name,
                         node->why ? node->why : node->note);
        rc = JP_EXIT_INCOMPLETE;
    }
    return rc;
}

/* Sorts and prints the shapes. Returns 0, or -1 and err. */
static int show_shapes(struct jp_shapes *shapes, const struct arguments *a,
                       struct jp_error *err)
{
    if (shapes_sort(shapes, err) < 0 ||
        (a->pictures && write_pictures(shapes, a->pictures, err) < 0))
        return -1;
    return a->common.json ? print_json(shapes, err)
                          : topo_print(shapes, stdout, err);
}

/* Returns the path that a word means: itself, or the directory of the job's
 * first step, whose nodes are those of the job. Caller frees. NULL and err: no
 * such path and no such job. */
static char *path_of(const char *word, const struct arguments *a,
                     struct jp_error *err)
{
    char **steps = NULL, *path;
    struct stat st;
    size_t n = 0;

    if (stat(word, &st) == 0) {
        path = strdup(word);
    } else {
        if (cmd_inputs_steps(word, a->common.config, &steps, &n, err) < 0)
            return NULL;
        path = strdup(steps[0]);
        nodelist_free(steps, n);
    }
    if (!path)
        error_set(err, "out of memory");
    return path;
}

static int run_command(int argc, char **argv)
{
    struct arguments a = {0};
    struct jp_error err = {""};
    struct jp_shapes shapes = {0};
    int rc = cmd_options_parse(&command_line, argc, argv, &a);
    char *path = NULL;
    long found;

    if (rc >= 0)
        return rc;
    if (argv[optind] && !(path = path_of(argv[optind], &a, &err)))
        return cmd_args_fail("topo", JP_EXIT_IO, &err);
    /* a path to look in, or this machine; found: number of nodes, 0: none, -1:
     * an error */
    found = path ? find_shapes(path, &shapes, &err)
                 : add_this_machine(&shapes, &err);
    if (found < 0 || (found > 0 && show_shapes(&shapes, &a, &err) < 0)) {
        quote_printf(stderr, "jobprof: topo: %s\n", err.text);
        rc = JP_EXIT_IO;
    } else if (found == 0) {
        quote_printf(stderr,
                     "jobprof: topo: %s: no topology (nodes/*/topology.xml, "
                     "*.xml)\n",
                     path);
        rc = JP_EXIT_NODATA;
    } else {
        rc = print_bad_nodes(&shapes, &a);
        /* all records are bad */
        if (!shapes.n_shapes)
            rc = JP_EXIT_NODATA;
    }
    shapes_fini(&shapes);
    free(path);
    return rc;
}

extern const struct command command_topo;
const struct command command_topo = {
    .name = "topo",
    .run = run_command,
    .summary = "show nodes' GPUs, HCAs and their connections",
};
