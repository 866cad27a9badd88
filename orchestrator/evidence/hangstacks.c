/* hangstacks.c - read hang/<node>/, and merge the stacks of all nodes.
 *
 * hangstacks_load is the entry. For each node it reads evidence.json
 * (hangstacks_add_summary), then the stacks of its processes (stacktree.c).
 * hangstacks_finish turns the tree into branches for readers. */
#include "orchestrator/evidence/hangstacks.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/evidence/evidence.h"

enum {
    /* limit of a list of ranks */
    LABEL_TEXT = 400,
    LAST_THREADS = 65536 /* limit of stored thread names */
};

/* A thread's name, to label its stack. */
struct name {
    size_t process;
    int64_t tid;
    char text[32];
};

struct hangstacks_tree {
    /* all stacks of all processes */
    struct stacktree tree;
    struct name *names;                 /* grouped by process */
    size_t first[HANGSTACKS_PROCESSES]; /* index of each process's first name */
    /* over all processes */
    size_t n_names;
};

/* --- helpers -------------------------------------------------------------- */

/* Copies a member's text; "" if it is missing. */
static void copy_member(char *to, size_t size, const json_t *object,
                        const char *key)
{
    const char *text = jsonload_text(object, key);

    stacktree_copy(to, size, text, strlen(text));
}

/* --- evidence.json -------------------------------------------------------- */

/* Adds a thread's name. Without room the thread has no name. */
static void add_name(struct hangstacks_tree *tree, size_t process, int64_t tid,
                     const json_t *thread)
{
    struct name *name;

    if (tree->n_names >= LAST_THREADS)
        return;
    name = VECTOR_DOUBLE_ADD(tree->names, tree->n_names);
    if (!name)
        return;
    name->process = process;
    name->tid = tid;
    copy_member(name->text, sizeof(name->text), thread, "name");
}

/* Sums up the threads; the main thread gives the process's state. */
static void read_threads(struct hangstacks *view, size_t process,
                         const json_t *threads)
{
    struct hangstacks_process *p = &view->processes[process];
    json_t *thread;
    size_t i;

    json_array_foreach(threads, i, thread)
    {
        const json_t *after = json_object_get(thread, "cpu_ms_after");
        int64_t tid = jsonload_int(thread, "tid", -1);
        char state[2];

        /* One letter; a longer text is truncated. */
        copy_member(state, sizeof(state), thread, "state");
        p->threads++;
        p->blocked += *state == 'D';
        /* null: the thread was seen only once. */
        if (json_is_integer(after) && json_integer_value(after) >= 0) {
            p->cpu_known = true;
            p->cpu_ms += (uint64_t) json_integer_value(after);
        }
        /* The main thread's id is the pid. */
        if (tid == p->pid) {
            memcpy(p->state, state, sizeof(state));
            copy_member(p->waits, sizeof(p->waits), thread, "wchan");
        } else {
            add_name(view->tree, process, tid, thread);
        }
    }
}

/* Returns the constant word, or "" for anything else. */
static const char *role_word(const json_t *one)
{
    const char *word = json_string_value(json_object_get(one, "role"));

    /* The constant is returned, so that no copy is needed. */
    for (size_t i = 0; word && i < EVIDENCE_N_ROLES; i++)
        if (strcmp(word, evidence_role_words[i]) == 0)
            return evidence_role_words[i];
    return "";
}

/* Adds a process with its threads. Returns -1 without memory. */
static int add_process(struct hangstacks *view, const char *node,
                       const json_t *one)
{
    struct hangstacks_process *p;

    if (view->n_processes >= HANGSTACKS_PROCESSES) {
        view->left_out++;
        return 0;
    }
    p = VECTOR_DOUBLE_ADD(view->processes, view->n_processes);
    if (!p)
        return -1;
    stacktree_copy(p->node, sizeof(p->node), node, strlen(node));
    /* Names of a process are adjacent, starting here. */
    view->tree->first[view->n_processes - 1] = view->tree->n_names;
    p->pid = jsonload_int(one, "pid", -1);
    p->task = jsonload_int(one, "task", -1);
    p->role = role_word(one);
    p->there = json_is_true(json_object_get(one, "there"));
    p->read_bytes = jsonload_count(one, "read_bytes", 0);
    p->written_bytes = jsonload_count(one, "written_bytes", 0);
    read_threads(view, view->n_processes - 1, json_object_get(one, "threads"));
    return 0;
}

/* Adds a part that was tried. Returns -1 without memory. */
static int add_part(struct hangstacks *view, const char *node,
                    const json_t *one)
{
    struct hangstacks_part *p;

    if (view->n_parts >= HANGSTACKS_ROWS) {
        view->left_out++;
        return 0;
    }
    p = VECTOR_DOUBLE_ADD(view->parts, view->n_parts);
    if (!p)
        return -1;
    stacktree_copy(p->node, sizeof(p->node), node, strlen(node));
    copy_member(p->part, sizeof(p->part), one, "part");
    copy_member(p->file, sizeof(p->file), one, "file");
    copy_member(p->why, sizeof(p->why), one, "why");
    p->pid = jsonload_int(one, "pid", 0);
    p->ms = jsonload_count(one, "ms", 0);
    return 0;
}

/* Several nodes may have received the same answer. */
static bool has_ras(const struct hangstacks *view,
                    const struct hangstacks_ras *row)
{
    for (size_t i = 0; i < view->n_ras; i++) {
        const struct hangstacks_ras *r = &view->ras[i];

        if (r->rank == row->rank && r->pid == row->pid &&
            strcmp(r->kind, row->kind) == 0 &&
            strcmp(r->comm, row->comm) == 0 && strcmp(r->func, row->func) == 0)
            return true;
    }
    return false;
}

/* Adds a row of RAS, unless it is known. Returns -1 without memory. */
static int add_ras(struct hangstacks *view, const char *node, const json_t *one)
{
    struct hangstacks_ras row = {.rank = jsonload_int(one, "rank", -1),
                                 .pid = jsonload_int(one, "pid", -1),
                                 .launched = jsonload_count(one, "launched", 0),
                                 .most = jsonload_count(one, "most", 0)};

    stacktree_copy(row.node, sizeof(row.node), node, strlen(node));
    copy_member(row.kind, sizeof(row.kind), one, "kind");
    copy_member(row.comm, sizeof(row.comm), one, "comm");
    copy_member(row.host, sizeof(row.host), one, "host");
    copy_member(row.func, sizeof(row.func), one, "func");
    copy_member(row.word, sizeof(row.word), one, "word");
    if (view->n_ras >= HANGSTACKS_ROWS || has_ras(view, &row)) {
        view->left_out += view->n_ras >= HANGSTACKS_ROWS;
        return 0;
    }
    if (VECTOR_DOUBLE(view->ras, view->n_ras) < 0)
        return -1;
    view->ras[view->n_ras++] = row;
    return 0;
}

/* Adds one element of a list of evidence.json. */
typedef int adder(struct hangstacks *view, const char *node, const json_t *one);

/* Three lists have the same form, so one loop reads them. */
int hangstacks_add_summary(struct hangstacks *view, const char *text,
                           size_t len, struct jp_error *err)
{
    /* The lists of evidence.json, and what adds one element. */
    static const struct {
        const char *key;
        adder *add;
    } lists[] = {
        {"processes", add_process}, {"parts", add_part}, {"ras", add_ras}};
    json_t *root =
               jsonload(JSONLOAD_EVIDENCE, EVIDENCE_NAME, text, len, 0, err),
           *one;
    uint64_t taken_us;
    char node[64];
    size_t i;
    int rc = 0;

    if (!root)
        return -1;
    copy_member(node, sizeof(node), root, "node");
    /* All nodes have the same sentence. */
    if (!*view->hang)
        copy_member(view->hang, sizeof(view->hang), root, "hang");
    taken_us = jsonload_count(root, "taken_us", 0);
    /* The earliest evidence counts. */
    if (taken_us && (!view->taken_us || taken_us < view->taken_us))
        view->taken_us = taken_us;
    view->n_nodes++;
    for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
        json_array_foreach(json_object_get(root, lists[k].key), i,
                           one) if (rc == 0) rc = lists[k].add(view, node, one);
    json_decref(root);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}

/* --- stacks --------------------------------------------------------------- */

/* The process whose threads are named. */
struct whose {
    const struct hangstacks_tree *tree;
    size_t process;
};

/* The threads of a process are few; a linear search will do. */
static const char *name_of(const void *arg, int64_t tid)
{
    const struct whose *whose = arg;

    /* The names of a process end where those of the next begin. */
    for (size_t i = whose->tree->first[whose->process];
         i < whose->tree->n_names; i++) {
        const struct name *name = &whose->tree->names[i];

        if (name->process != whose->process)
            break;
        if (name->tid == tid)
            return name->text;
    }
    return "";
}

/* Updates what is shown of the process. */
int hangstacks_add_stack(struct hangstacks *view, size_t process, bool python,
                         const char *text)
{
    struct hangstacks_process *p = &view->processes[process];
    const struct whose whose = {view->tree, process};
    struct stacktree_text what = {.process = process,
                                  .python = python,
                                  .pid = p->pid,
                                  .name = name_of,
                                  .arg = &whose};

    if (stacktree_add(&view->tree->tree, &what, text) < 0)
        return -1;
    /* Python's innermost frame says more than the native one. */
    if (*what.where && (python || !*p->where))
        memcpy(p->where, what.where, sizeof(p->where));
    *(python ? &p->has_python : &p->has_stack) |= what.any;
    return 0;
}

/* --- branches ------------------------------------------------------------- */

/* A text of limited length. */
struct text {
    char buf[LABEL_TEXT];
    size_t len;
    bool full;
};

/* Appends a label; "..." if it does not fit. */
static void put_label(struct text *t, const char *label)
{
    size_t need = strlen(label) + (t->len ? 2 : 0);

    if (t->full)
        return;
    /* Keeps room for "..." and NUL. */
    t->full = t->len + need + 6 > sizeof(t->buf);
    t->len += (size_t) snprintf(t->buf + t->len, sizeof(t->buf) - t->len,
                                "%s%s", t->len ? ", " : "",
                                t->full ? "..." : label);
}

/* Ascending. */
static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

    return (x > y) - (x < y);
}

/* Formats the processes of a set: tasks as ranges, then the processes of
 * unknown task. Caller frees. */
static char *label_set(const struct hangstacks *view,
                       const uint64_t set[STACKTREE_WORDS])
{
    int64_t tasks[HANGSTACKS_PROCESSES];
    struct text t = {.len = 0};
    char label[96];
    size_t n = 0;

    for (size_t i = 0; i < view->n_processes; i++)
        if ((set[i / 64] >> (i % 64) & 1) && view->processes[i].task >= 0)
            tasks[n++] = view->processes[i].task;
    qsort(tasks, n, sizeof(*tasks), by_number);
    for (size_t i = 0; i < n; i++) {
        int64_t from = tasks[i];

        /* Duplicates and consecutive numbers form one range. */
        while (i + 1 < n && tasks[i + 1] <= tasks[i] + 1)
            i++;
        snprintf(label, sizeof(label),
                 tasks[i] > from ? "%" PRId64 "-%" PRId64 : "%" PRId64, from,
                 tasks[i]);
        put_label(&t, label);
    }
    for (size_t i = 0; i < view->n_processes; i++)
        if ((set[i / 64] >> (i % 64) & 1) && view->processes[i].task < 0) {
            snprintf(label, sizeof(label), "%s:%" PRId64,
                     view->processes[i].node, view->processes[i].pid);
            put_label(&t, label);
        }
    return strdup(t.buf);
}

/* Number of processes in a set. */
static uint32_t count_set(const uint64_t set[STACKTREE_WORDS])
{
    uint32_t n = 0;

    for (size_t i = 0; i < STACKTREE_WORDS; i++)
        n += (uint32_t) __builtin_popcountll(set[i]);
    return n;
}

/* Computes the processes that are not in a frame, among those whose stacks of
 * this kind were read. */
static void others(const struct hangstacks *view,
                   const struct stacktree_frame *frame,
                   uint64_t out[STACKTREE_WORDS])
{
    /* Processes without such a stack are neither in nor out. */
    memset(out, 0, STACKTREE_WORDS * sizeof(*out));
    for (size_t i = 0; i < view->n_processes; i++)
        if (frame->python ? view->processes[i].has_python
                          : view->processes[i].has_stack)
            out[i / 64] |= UINT64_C(1) << (i % 64);
    for (size_t i = 0; i < STACKTREE_WORDS; i++)
        out[i] &= ~frame->in[i];
}

/* Whether the frame's only child has the same processes and threads. */
static bool runs_on(const struct stacktree *tree, uint32_t i)
{
    const struct stacktree_frame *f = &tree->frames[i];
    const struct stacktree_frame *child = &tree->frames[f->child];

    return f->n_children == 1 && f->threads == child->threads &&
           memcmp(f->in, child->in, sizeof(f->in)) == 0;
}

/* Adds the branch that starts at frame i. *last is its innermost frame. */
static int add_branch(struct hangstacks *view, uint32_t i, const char *thread,
                      uint32_t depth, uint32_t *last)
{
    const struct stacktree *tree = &view->tree->tree;
    struct hangstacks_branch *b =
        VECTOR_DOUBLE_ADD(view->branches, view->n_branches);
    uint64_t out[STACKTREE_WORDS];
    size_t n = 1;

    if (!b)
        return -1;
    /* Successive frames with the same processes become one branch. */
    for (*last = i; runs_on(tree, *last); *last = tree->frames[*last].child)
        n++;
    others(view, &tree->frames[i], out);
    b->python = tree->frames[i].python;
    b->depth = depth;
    b->threads = tree->frames[i].threads;
    b->n_in = count_set(tree->frames[i].in);
    b->n_out = count_set(out);
    b->leaf = !tree->frames[*last].child;
    b->thread = strdup(thread);
    /* The labels are made once for the whole branch, because all its frames
     * have the same processes. */
    b->in = label_set(view, tree->frames[i].in);
    b->out = label_set(view, out);
    b->frames = calloc(n, sizeof(*b->frames));
    if (!b->thread || !b->in || !b->out || !b->frames)
        return -1;
    for (size_t k = 0; k < n; k++, i = tree->frames[i].child) {
        b->frames[k] = strdup(tree->frames[i].text);
        if (!b->frames[k])
            return -1;
        /* Counted one by one, so that destroy frees what exists. */
        b->n_frames++;
    }
    return 0;
}

/* Adds everything below a thread's role, in order. STACKTREE_DEPTH limits the
 * recursion. */
static int add_below(struct hangstacks *view, uint32_t parent,
                     const char *thread, uint32_t depth)
{
    uint32_t last;

    for (uint32_t i = view->tree->tree.frames[parent].child; i;
         i = view->tree->tree.frames[i].next)
        if (add_branch(view, i, thread, depth, &last) < 0 ||
            add_below(view, last, thread, depth + 1) < 0)
            return -1;
    return 0;
}

/* Returns the place of a role in the order: main threads first, and Python
 * before native, as users look there first. */
static int rank_role(const struct stacktree_frame *f)
{
    if (strcmp(f->text, "Python MainThread") == 0)
        return 0;
    if (strcmp(f->text, "main thread") == 0)
        return 1;
    return f->python ? 2 : 3;
}

/* Four passes keep the order of the tree within each rank. */
int hangstacks_finish(struct hangstacks *view)
{
    const struct stacktree *tree = &view->tree->tree;

    for (int rank = 0; rank < 4 && tree->n_frames; rank++)
        for (uint32_t i = tree->frames[0].child; i; i = tree->frames[i].next)
            if (rank_role(&tree->frames[i]) == rank &&
                add_below(view, i, tree->frames[i].text, 0) < 0)
                return -1;
    view->left_out += tree->left_out;
    return 0;
}

/* --- files ---------------------------------------------------------------- */

/* Returns an empty view, or NULL without memory. */
struct hangstacks *hangstacks_create(void)
{
    struct hangstacks *view = calloc(1, sizeof(*view));

    if (view)
        view->tree = calloc(1, sizeof(*view->tree));
    if (view && view->tree)
        return view;
    hangstacks_destroy(view);
    return NULL;
}

void hangstacks_destroy(struct hangstacks *view)
{
    if (!view)
        return;
    for (size_t i = 0; i < view->n_branches; i++) {
        struct hangstacks_branch *b = &view->branches[i];

        for (size_t k = 0; k < b->n_frames; k++)
            free(b->frames[k]);
        free(b->frames);
        free(b->thread);
        free(b->in);
        free(b->out);
    }
    if (view->tree) {
        stacktree_fini(&view->tree->tree);
        free(view->tree->names);
    }
    free(view->tree);
    free(view->branches);
    free(view->processes);
    free(view->parts);
    free(view->ras);
    free(view);
}

/* Reads one stack. A missing file is no error. Returns -1 without memory. */
static int read_stack(struct hangstacks *view, const char *folder,
                      size_t process, bool python)
{
    char *path = text_format("%s/%s-%" PRId64 ".txt", folder,
                             python ? "python" : "stack",
                             view->processes[process].pid);
    char *text = NULL;
    int rc = path ? 0 : -1;

    if (path &&
        fileio_read(path, false, EVIDENCE_STACK_BYTES, &text, NULL, NULL) == 0)
        rc = hangstacks_add_stack(view, process, python, text);
    free(text);
    free(path);
    return rc;
}

/* Reads one node. A bad evidence.json is counted. */
static int read_node(struct hangstacks *view, const char *folder,
                     struct jp_error *err)
{
    char *path = text_format("%s/" EVIDENCE_NAME, folder);
    size_t first = view->n_processes, len = 0;
    struct jp_error bad = {""};
    char *text = NULL;
    int rc = path ? 0 : -1;

    if (path &&
        (fileio_read(path, false, JSONLOAD_MB * 8, &text, &len, &bad) < 0 ||
         hangstacks_add_summary(view, text, len, &bad) < 0))
        /* One bad file must not hide the other nodes. */
        view->bad++;
    for (size_t i = first; i < view->n_processes && rc == 0; i++) {
        rc = read_stack(view, folder, i, false);
        if (rc == 0)
            rc = read_stack(view, folder, i, true);
    }
    free(text);
    free(path);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}

/* Reads the folders, and finishes the view. */
static int load_folders(const char *const *folders, size_t n,
                        struct hangstacks **out, struct jp_error *err)
{
    struct hangstacks *view = hangstacks_create();
    int rc = view ? 0 : error_set(err, "out of memory");

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = read_node(view, folders[i], err);
    if (rc == 0 && hangstacks_finish(view) < 0)
        rc = error_set(err, "out of memory");
    if (rc < 0) {
        hangstacks_destroy(view);
        return -1;
    }
    *out = view;
    return 0;
}

int hangstacks_load_node(const char *folder, struct hangstacks **out,
                         struct jp_error *err)
{
    return load_folders(&folder, 1, out, err);
}

/* Accepts names that a node can have. */
static int is_node(const struct dirent *entry)
{
    return stepdir_name_ok(entry->d_name);
}

/* Nodes are read in order of name, so that the result does not depend on the
 * folder. */
int hangstacks_load(const char *dir, struct hangstacks **out,
                    struct jp_error *err)
{
    char *hang = text_format("%s/" EVIDENCE_FOLDER, dir);
    char *folders[HANGSTACKS_NODES];
    struct dirent **entries = NULL;
    int rc = 0, n = 0;
    size_t kept = 0;

    *out = NULL;
    if (hang && stepdir_is_folder(hang))
        n = scandir(hang, &entries, is_node, alphasort);
    for (int i = 0; i < n; i++) {
        char *folder = text_format("%s/%s", hang, entries[i]->d_name);

        if (folder && kept < HANGSTACKS_NODES && stepdir_is_folder(folder))
            folders[kept++] = folder;
        else
            free(folder);
        free(entries[i]);
    }
    free(entries);
    if (kept)
        rc = load_folders((const char *const *) folders, kept, out, err);
    /* Some of these may not be folders; the number is an upper bound. */
    if (rc == 0 && kept && n > HANGSTACKS_NODES)
        (*out)->left_out += (uint64_t) (n - HANGSTACKS_NODES);
    for (size_t i = 0; i < kept; i++)
        free(folders[i]);
    free(hang);
    return rc;
}

/* --- sentences ------------------------------------------------------------ */

/* The first branch where the main threads diverge: some of them are not in
 * it. */
static const struct hangstacks_branch *parting(const struct hangstacks *view)
{
    for (size_t i = 0; i < view->n_branches; i++) {
        const struct hangstacks_branch *b = &view->branches[i];

        /* Other threads diverge without a meaning. */
        if (b->n_out && (strcmp(b->thread, "main thread") == 0 ||
                         strcmp(b->thread, "Python MainThread") == 0))
            return b;
    }
    return NULL;
}

/* The first parting of the main threads is the most useful sentence. */
char *hangstacks_text(const struct hangstacks *view, char buf[HANGSTACKS_TEXT])
{
    const struct hangstacks_branch *b = parting(view);
    size_t stacks = 0, n;

    for (size_t i = 0; i < view->n_processes; i++)
        stacks += view->processes[i].has_stack || view->processes[i].has_python;
    n = (size_t) snprintf(buf, HANGSTACKS_TEXT,
                          "%zu process%s of %zu node%s examined while the step "
                          "hung, stacks of %zu",
                          view->n_processes, view->n_processes == 1 ? "" : "es",
                          view->n_nodes, view->n_nodes == 1 ? "" : "s", stacks);
    if (b)
        snprintf(buf + n, HANGSTACKS_TEXT - n,
                 "; rank%s %.150s %s in %.150s, rank%s %.150s %s not",
                 b->n_in == 1 ? "" : "s", b->in, b->n_in == 1 ? "is" : "are",
                 b->frames[b->n_frames - 1], b->n_out == 1 ? "" : "s", b->out,
                 b->n_out == 1 ? "is" : "are");
    return buf;
}

void hangstacks_print_lacks(const struct hangstacks *view, FILE *out)
{
    for (size_t i = 0; i < view->n_parts; i++) {
        const struct hangstacks_part *p = &view->parts[i];
        bool said = !*p->why;

        /* Equal lines are printed once; O(n^2), but n is small. */
        for (size_t k = 0; k < i && !said; k++)
            said = strcmp(view->parts[k].part, p->part) == 0 &&
                   strcmp(view->parts[k].why, p->why) == 0;
        if (!said)
            quote_printf(out, "jobprof: no %s: %s\n", p->part, p->why);
    }
}
