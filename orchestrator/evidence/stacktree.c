/* stacktree.c - parse the output of eu-stack and py-spy, and merge the stacks
 * into one tree.
 *
 * stacktree_add is the entry: it collects the frames of a thread in struct
 * stack, and at the next thread adds them to the tree (add_thread). */
#include "common/vector.h"
#include "orchestrator/evidence/hangstacks.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies and truncates. Characters that are not printable ASCII become '?'. */
void stacktree_copy(char *to, size_t size, const char *from, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len && from[i] && n + 1 < size; i++)
        to[n++] = isprint((unsigned char) from[i]) ? from[i] : '?';
    to[n] = '\0';
}

/* --- the tree ------------------------------------------------------------- */

/* Makes the root when the first text comes. Returns -1 without memory. */
static int make_root(struct stacktree *tree)
{
    if (tree->n_frames)
        return 0;
    tree->room = 256;
    tree->frames = calloc(tree->room, sizeof(*tree->frames));
    if (!tree->frames)
        return -1;
    tree->n_frames = 1;
    return 0;
}

/* Finds or makes the child of `parent` with that text. Returns 0 if there is no
 * room, -1 without memory. */
static int64_t tree_child(struct stacktree *tree, uint32_t parent, bool python,
                          const char *text)
{
    /* Children are searched linearly; their number is limited. */
    uint32_t i = tree->frames[parent].child;
    struct stacktree_frame *f;

    for (; i; i = tree->frames[i].next)
        if (tree->frames[i].python == python &&
            strcmp(tree->frames[i].text, text) == 0)
            return i;
    if (tree->n_frames >= STACKTREE_FRAMES ||
        tree->frames[parent].n_children >= STACKTREE_CHILDREN)
        return 0;
    if (VECTOR_ROOM(tree->frames, tree->n_frames + 1, tree->room) < 0)
        return -1;
    /* The frame is complete before it is linked, so that a failure leaves the
     * tree valid. */
    i = (uint32_t) tree->n_frames;
    f = &tree->frames[i];
    *f = (struct stacktree_frame){
        .parent = parent, .python = python, .text = strdup(text)};
    if (!f->text)
        return -1;
    tree->n_frames++;
    f = &tree->frames[parent];
    if (f->last)
        tree->frames[f->last].next = i;
    else
        f->child = i;
    f->last = i;
    f->n_children++;
    return i;
}

/* Notes that one more thread of the process is in the frame. */
static void mark(struct stacktree_frame *frame, size_t process)
{
    frame->in[process / 64] |= UINT64_C(1) << (process % 64);
    frame->threads++;
}

/* A thread's frames while they are read, innermost first. */
struct stack {
    /* "main thread", "thread NAME", "Python NAME"; "": none begun */
    char role[64];
    char frames[STACKTREE_DEPTH][STACKTREE_TEXT];
    size_t n;
    bool cut; /* deeper frames were dropped */
};

/* Adds a thread from the outermost frame inwards. Returns -1 without memory;
 * what does not fit is counted. */
static int add_thread(struct stacktree *tree, size_t process, bool python,
                      const struct stack *stack)
{
    int64_t at;

    if (!stack->n || !*stack->role)
        return 0;
    at = tree_child(tree, 0, python, stack->role);
    if (at > 0)
        mark(&tree->frames[at], process);
    /* The outermost frames are missing, so a placeholder takes their place. */
    if (at > 0 && stack->cut) {
        at = tree_child(tree, (uint32_t) at, python, "...");
        if (at > 0)
            mark(&tree->frames[at], process);
    }
    for (size_t i = stack->n; i-- > 0 && at > 0;) {
        at = tree_child(tree, (uint32_t) at, python, stack->frames[i]);
        if (at > 0)
            mark(&tree->frames[at], process);
    }
    tree->left_out += at == 0;
    return at < 0 ? -1 : 0;
}

/* Appends a frame. Successive frames known only by their file are merged. */
static void push_frame(struct stack *stack, const char *text, size_t len)
{
    char *to;

    if (stack->n >= STACKTREE_DEPTH) {
        stack->cut = true;
        return;
    }
    to = stack->frames[stack->n];
    stacktree_copy(to, STACKTREE_TEXT, text, len);
    /* "[libc.so.6]" stands for a frame without a name. */
    if (stack->n && *to == '[' && strcmp(to, stack->frames[stack->n - 1]) == 0)
        return;
    stack->n++;
}

/* --- eu-stack ------------------------------------------------------------- */

/* Reads "#1  0x00007f1ef80aae53 __nanosleep@@GLIBC_2.2.5 - /usr/lib/libc.so.6".
 * Name and file may be missing. */
static void read_native(struct stack *stack, const char *line, size_t len)
{
    const char *end = line + len, *file = NULL, *slash, *name;
    char text[STACKTREE_TEXT];

    while (line < end && *line != ' ')
        line++;
    while (line < end && *line == ' ')
        line++;
    while (line < end && *line != ' ') /* skips the address */
        line++;
    /* " - /path" is the file; the name is before it. */
    for (name = line; name + 3 < end; name++)
        if (memcmp(name, " - /", 4) == 0)
            file = name + 3;
    name = line + (line < end && *line == ' ');
    if (file && name < file - 3) {
        end = file - 3;
    } else if (file) {
        slash = memrchr(file, '/', (size_t) (end - file));
        snprintf(text, sizeof(text), "[%.*s]",
                 (int) (end - slash - 1 < 128 ? end - slash - 1 : 128),
                 slash + 1);
        push_frame(stack, text, strlen(text));
        return;
    }
    /* A symbol's version after '@' is dropped. */
    slash = name < end ? memchr(name, '@', (size_t) (end - name)) : NULL;
    if (slash > name)
        end = slash;
    if (name < end)
        push_frame(stack, name, (size_t) (end - name));
    else
        push_frame(stack, "[?]", 3);
}

/* Begins a thread of eu-stack: "TID 1234:". */
static void set_role(const struct stacktree_text *what, const char *line,
                     struct stack *stack)
{
    int64_t tid = strtoll(line + 4, NULL, 10);
    const char *name = tid == what->pid ? "" : what->name(what->arg, tid);

    stack->n = 0;
    stack->cut = false;
    snprintf(stack->role, sizeof(stack->role), "%s%s",
             tid == what->pid ? "main thread"
             : *name          ? "thread "
                              : "a thread",
             name);
}

/* --- py-spy --------------------------------------------------------------- */

/* "Thread 1234 (idle): "MainThread"" */
static void set_python_role(const char *line, size_t len, struct stack *stack)
{
    const char *name = memchr(line, '"', len), *end;
    char text[48] = "";

    /* The name is in quotes; it may be missing. */
    stack->n = 0;
    stack->cut = false;
    if (name) {
        end = memchr(name + 1, '"', len - (size_t) (name + 1 - line));
        stacktree_copy(text, sizeof(text), name + 1,
                       end ? (size_t) (end - name - 1) : 0);
    }
    snprintf(stack->role, sizeof(stack->role), "Python %s",
             *text ? text : "thread");
}

/* --- both ----------------------------------------------------------------- */

/* Notes where the main thread is. */
static void note_where(struct stacktree_text *what, const struct stack *stack)
{
    bool is_main = strcmp(stack->role, what->python ? "Python MainThread"
                                                    : "main thread") == 0;

    if (stack->n && is_main)
        snprintf(what->where, sizeof(what->where), "%.95s", stack->frames[0]);
}

/* Adds the thread that was read so far. */
static int end_thread(struct stacktree *tree, struct stacktree_text *what,
                      const struct stack *stack)
{
    note_where(what, stack);
    what->any |= stack->n > 0;
    return add_thread(tree, what->process, what->python, stack);
}

/* Reads one line of a stack. Other lines, such as messages of the tool, are
 * ignored. */
static void read_line(const struct stacktree_text *what, const char *line,
                      size_t len, struct stack *stack)
{
    size_t indent = strspn(line, " ");

    if (what->python && indent && indent < len)
        push_frame(stack, line + indent, len - indent);
    else if (!what->python && *line == '#')
        read_native(stack, line, len);
}

int stacktree_add(struct stacktree *tree, struct stacktree_text *what,
                  const char *text)
{
    struct stack *stack = calloc(1, sizeof(*stack));
    const char *head = what->python ? "Thread " : "TID ";
    int rc = stack ? make_root(tree) : -1;

    while (rc == 0 && *text) {
        size_t len = strcspn(text, "\n");

        if (strncmp(text, head, strlen(head)) != 0) {
            read_line(what, text, len, stack);
        } else {
            /* A new thread begins, so the previous one is complete. */
            rc = end_thread(tree, what, stack);
            if (what->python)
                set_python_role(text, len, stack);
            else
                set_role(what, text, stack);
        }
        text += len + (text[len] == '\n');
    }
    if (rc == 0)
        rc = end_thread(tree, what, stack);
    free(stack);
    return rc;
}

void stacktree_fini(struct stacktree *tree)
{
    for (size_t i = 1; i < tree->n_frames; i++)
        free(tree->frames[i].text);
    free(tree->frames);
    *tree = (struct stacktree){.n_frames = 0};
}
