/* evidence_tables.c - the columns of what stuck processes looked like while
 * they lived, and summary.json's object. See tables.c.
 *
 * Four tables: the processes, their merged stacks, what NCCL's RAS reported,
 * and which parts of the evidence could be collected. */
#include <inttypes.h>
#include <string.h>

#include "orchestrator/evidence/evidence.h"
#include "orchestrator/evidence/evidence_feature.h"
#include "orchestrator/report/tables.h"

/* --- processes ------------------------------------------------------------ */

/* No rows in any of the four tables without evidence of a hang. */
static size_t count_processes(const struct jp_report *report)
{
    return evidence_of(report) ? evidence_of(report)->n_processes : 0;
}

static void find_process(struct jp_row *row)
{
    row->at = &evidence_of(row->report)->processes[row->index];
}

/* a task's number below 0, and empty texts, are unknown */
JP_GETTER(hproc_rank, hangstacks_process, value_signed(v, at->task))
JP_GETTER(hproc_node, hangstacks_process, value_name(v, at->node))
JP_GETTER(hproc_role, hangstacks_process, value_name(v, at->role))
JP_GETTER(hproc_state, hangstacks_process, value_name(v, at->state))
JP_GETTER(hproc_cpu, hangstacks_process,
          value_known(v, at->cpu_known, at->cpu_ms * 1000))
JP_GETTER(hproc_waits, hangstacks_process, value_name(v, at->waits))
JP_GETTER(hproc_where, hangstacks_process, value_name(v, at->where))

#define FIELD(member) JP_FIELD(struct hangstacks_process, member)
/* figures of one moment, except cpu_us, which covers about a second */
static const struct jp_column processes[] = {
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE, 1, 1, 1, "Rank", "Slurm's task",
     .get = get_hproc_rank},
    {"node", JP_COL_TEXT, JP_CSV | JP_MAYBE, 2, 2, 2, "Node", "of the process",
     .width = 14, .get = get_hproc_node},
    {"pid", JP_COL_PID, JP_CSV, 3, 3, 3, "Pid", "of the process", FIELD(pid)},
    {"role", JP_COL_WORD, JP_CSV | JP_MAYBE | JP_TIP, 4, 4, 4, "Role",
     "missing: others wait for it; waiting: it waits for others; task: "
     "unknown",
     .words = evidence_role_words, .n_words = EVIDENCE_N_ROLES,
     .get = get_hproc_role},
    {"there", JP_COL_BOOL, JP_CSV, 5, .help = "it was alive", FIELD(there)},
    {"state", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 6, 5, 5, "State",
     "of its main thread: R runs, S sleeps, D waits in the kernel, T is "
     "stopped",
     .width = 5, .get = get_hproc_state},
    {"threads", JP_COL_COUNT, JP_CSV, 7, 6, 0, "Threads", "of the process",
     FIELD(threads)},
    {"blocked", JP_COL_COUNT, JP_CSV | JP_TIP, 8, 7, 0, "In D",
     "threads that wait in the kernel and cannot be ended", FIELD(blocked)},
    {"cpu_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP, 9, 8, 6, "CPU",
     "processor time of all its threads within a second", .get = get_hproc_cpu},
    {"read_bytes", JP_COL_BYTES, JP_CSV, 10,
     .help = "by calls, since its start", FIELD(read_bytes)},
    {"written_bytes", JP_COL_BYTES, JP_CSV, 11,
     .help = "by calls, since its start", FIELD(written_bytes)},
    {"waits_in", JP_COL_CODE, JP_CSV | JP_MAYBE | JP_TIP, 12, 9, 0, "Waits in",
     "function of the kernel that its main thread waits in",
     .get = get_hproc_waits},
    {"where", JP_COL_CODE, JP_CSV | JP_MAYBE | JP_TIP, 13, JP_LAST, 7, "Where",
     "innermost frame of its main thread, of Python where that is known",
     .width = 26, .get = get_hproc_where},
};
#undef FIELD

static const struct jp_table table_hang_processes = {
    .name = "hang_processes",
    .json = "hang.evidence.processes",
    .help = "one row per process examined while the step hung",
    JP_COLUMNS(processes),
    .count = count_processes,
    .find = find_process,
    .max_json = HANGSTACKS_PROCESSES,
    .max_html = 200,
    .max_text = 16,
    .title = "Processes while the step hung",
};

/* --- merged stacks -------------------------------------------------------- */

static size_t count_branches(const struct jp_report *report)
{
    return evidence_of(report) ? evidence_of(report)->n_branches : 0;
}

static void find_branch(struct jp_row *row)
{
    row->at = &evidence_of(row->report)->branches[row->index];
}

/* Formats a run of frames, the innermost first, as many as fit: it is where the
 * threads are. Leading dots show the depth, at most 20. */
static void put_run(const struct hangstacks_branch *b, struct jp_value *v)
{
    size_t room = sizeof(v->buf), len = 0;

    v->buf[0] = '\0';
    for (uint32_t i = 0; i < b->depth && i < 20; i++)
        len += (size_t) snprintf(v->buf + len, room - len, ". ");
    /* frames are stored with the outermost first */
    for (size_t i = b->n_frames; i-- > 0;) {
        if (len + strlen(b->frames[i]) + 8 > room) {
            snprintf(v->buf + len, room - len, " < ...");
            break;
        }
        len += (size_t) snprintf(v->buf + len, room - len, "%s%s",
                                 i + 1 < b->n_frames ? " < " : "",
                                 b->frames[i]);
    }
    value_text(v, v->buf);
}

JP_GETTER(stack_thread, hangstacks_branch, value_name(v, at->thread))
JP_GETTER(stack_frames, hangstacks_branch, v->type = JP_VALUE_LIST;
          v->n = at->n_frames; v->list = at->frames)
JP_GETTER(stack_run, hangstacks_branch, put_run(at, v))
JP_GETTER(stack_in, hangstacks_branch, value_name(v, at->in))
JP_GETTER(stack_out, hangstacks_branch, value_name(v, at->out))

#define FIELD(member) JP_FIELD(struct hangstacks_branch, member)
/* rows are in the order of a tree: a row's callers are the rows above it with a
 * smaller depth */
static const struct jp_column stacks[] = {
    {"thread", JP_COL_TEXT, JP_CSV, 1, 1, 1, "Thread",
     "threads of this name, of all processes", .width = 18,
     .get = get_stack_thread},
    {"depth", JP_COL_COUNT, JP_CSV, 2,
     .help = "rows above it that call it; 0: none", FIELD(depth)},
    {"frames", JP_COL_LIST, JP_CSV, 3,
     .help = "with the same ranks, the outermost first", .max = 200,
     .get = get_stack_frames},
    {"run", JP_COL_CODE, JP_TIP, 0, 2, JP_LAST, "Frames",
     "with the same ranks, the innermost first; callers follow it and are in "
     "the rows above",
     .width = 46, .get = get_stack_run},
    {"ranks_in", JP_COL_COUNT, JP_CSV, 4, .help = "number of ranks in it",
     FIELD(n_in)},
    {"in", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 5, 3, 2, "In it",
     "ranks with a thread there; node:pid where the rank is not known",
     .width = 12, .get = get_stack_in},
    {"ranks_out", JP_COL_COUNT, JP_CSV, 6,
     .help = "number of ranks with stacks that are not in it", FIELD(n_out)},
    {"out", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 7, 4, 3, "Not in it",
     "the other ranks with stacks", .width = 12, .none = "",
     .get = get_stack_out},
    {"threads", JP_COL_COUNT, JP_CSV, 8, 5, 0, "Threads", "of all these ranks",
     FIELD(threads)},
    {"innermost", JP_COL_BOOL, JP_CSV, 9, .help = "it calls nothing else",
     FIELD(leaf)},
    {"python", JP_COL_BOOL, JP_CSV, 10, .help = "frames of Python",
     FIELD(python)},
};
#undef FIELD

static const struct jp_table table_hang_stacks = {
    .name = "hang_stacks",
    .json = "hang.evidence.stacks",
    .help = "one row per run of frames that the same ranks are in; callers in "
            "the rows above",
    JP_COLUMNS(stacks),
    .count = count_branches,
    .find = find_branch,
    .max_json = 2000,
    .max_html = 300,
    .max_text = 24,
    .title = "Merged stacks",
    .unsorted = true,
};

/* --- RAS ------------------------------------------------------------------ */

static size_t count_ras(const struct jp_report *report)
{
    return evidence_of(report) ? evidence_of(report)->n_ras : 0;
}

static void find_ras(struct jp_row *row)
{
    row->at = &evidence_of(row->report)->ras[row->index];
}

JP_GETTER(ras_kind, hangstacks_ras, value_name(v, at->kind))
/* 0x0: RAS did not name the communicator */
JP_GETTER(ras_comm, hangstacks_ras,
          value_name(v, strcmp(at->comm, "0x0") == 0 ? "" : at->comm))
JP_GETTER(ras_rank, hangstacks_ras, value_signed(v, at->rank))
JP_GETTER(ras_pid, hangstacks_ras, value_signed(v, at->pid))
JP_GETTER(ras_host, hangstacks_ras, value_name(v, at->host))
JP_GETTER(ras_func, hangstacks_ras, value_name(v, at->func))
/* counts without a function are not set */
JP_GETTER(ras_launched, hangstacks_ras,
          value_known(v, *at->func != 0, at->launched))
JP_GETTER(ras_most, hangstacks_ras, value_known(v, *at->func != 0, at->most))
JP_GETTER(ras_word, hangstacks_ras, value_name(v, at->word))
JP_GETTER(ras_node, hangstacks_ras, value_name(v, at->node))

/* rank and pid are those that NCCL printed, not those of Slurm */
static const struct jp_column ras[] = {
    {"kind", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 1, 1, 1, "RAS",
     "behind: it has launched fewer operations; missing, dead: it does not "
     "answer RAS; error: NCCL reports one",
     .width = 8, .get = get_ras_kind},
    {"comm", JP_COL_ID, JP_CSV | JP_MAYBE, 2, 2, 2, "Communicator", "its hash",
     .width = 20, .get = get_ras_comm},
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE, 3, 3, 3, "Rank",
     "in the communicator", .get = get_ras_rank},
    {"pid", JP_COL_RANK, JP_CSV | JP_MAYBE, 4, 4, 0, "Pid",
     "in the process' own namespace", .get = get_ras_pid},
    {"host", JP_COL_TEXT, JP_CSV | JP_MAYBE, 5, 5, 0, "Host",
     "address of the bootstrap network", .get = get_ras_host},
    {"func", JP_COL_TEXT, JP_CSV | JP_MAYBE, 6, 6, 6, "Function",
     "with different counts", .width = 14, .get = get_ras_func},
    {"launched", JP_COL_COUNT, JP_CSV | JP_MAYBE, 7, 7, 7, "Launched",
     "operations, by the host; not: ended", .get = get_ras_launched},
    {"most", JP_COL_COUNT, JP_CSV | JP_MAYBE, 8, 8, 8, "Most",
     "that another rank has launched", .get = get_ras_most},
    {"word", JP_COL_TEXT, JP_CSV | JP_MAYBE, 9, JP_LAST, JP_LAST, "Error",
     "as NCCL reports it", .none = "", .width = 18, .get = get_ras_word},
    {"asked_on", JP_COL_TEXT, JP_CSV | JP_MAYBE, 10,
     .help = "the node that queried", .get = get_ras_node},
};

static const struct jp_table table_hang_ras = {
    .name = "hang_ras",
    .json = "hang.evidence.ras",
    .help = "one row per rank in the answers of NCCL's RAS; on a busy job the "
            "counts of several ranks also differ",
    JP_COLUMNS(ras),
    .count = count_ras,
    .find = find_ras,
    .max_json = HANGSTACKS_ROWS,
    .max_html = 200,
    .max_text = 12,
    .title = "NCCL's RAS while the step hung",
};

/* --- parts ---------------------------------------------------------------- */

static size_t count_parts(const struct jp_report *report)
{
    return evidence_of(report) ? evidence_of(report)->n_parts : 0;
}

static void find_part(struct jp_row *row)
{
    row->at = &evidence_of(row->report)->parts[row->index];
}

JP_GETTER(part_node, hangstacks_part, value_name(v, at->node))
JP_GETTER(part_name, hangstacks_part, value_name(v, at->part))
/* 0 or below: a part of the node, not of a process */
JP_GETTER(part_pid, hangstacks_part,
          value_signed(v, at->pid > 0 ? at->pid : -1))
JP_GETTER(part_file, hangstacks_part, v->buf[0] = '\0';
          if (*at->file) snprintf(v->buf, sizeof(v->buf),
                                  EVIDENCE_FOLDER "/%s/%s", at->node, at->file);
          value_name(v, v->buf))
JP_GETTER(part_why, hangstacks_part, value_name(v, at->why))
JP_GETTER(part_took, hangstacks_part, value_count(v, at->ms * 1000))

/* why is empty if the part is complete */
static const struct jp_column parts[] = {
    {"node", JP_COL_TEXT, JP_CSV | JP_MAYBE, 1, 1, 1, "Node",
     "node of the attempt", .width = 14, .get = get_part_node},
    {"part", JP_COL_TEXT, JP_CSV | JP_MAYBE, 2, 2, 2, "Part",
     "kind of evidence", .width = 16, .get = get_part_name},
    {"pid", JP_COL_RANK, JP_CSV | JP_MAYBE, 3, 3, 3, "Pid",
     "of the process; none: of the node", .get = get_part_pid},
    {"file", JP_COL_CODE, JP_CSV | JP_MAYBE, 4, 4, 0, "File",
     "in the step's directory", .get = get_part_file},
    {"took_us", JP_COL_US, JP_CSV, 5, 5, 0, "Took", "time of the part",
     .get = get_part_took},
    {"why", JP_COL_TEXT, JP_CSV | JP_MAYBE, 6, JP_LAST, 4, "Why not",
     "why it is missing or incomplete", .none = "", .width = 50,
     .get = get_part_why},
};

static const struct jp_table table_hang_parts = {
    .name = "hang_parts",
    .json = "hang.evidence.parts",
    .help = "one row per part of the evidence that was tried",
    JP_COLUMNS(parts),
    .count = count_parts,
    .find = find_part,
    .max_json = HANGSTACKS_ROWS,
    .max_html = 200,
    .max_text = 16,
    .title = "Evidence, tried and taken",
};

const struct jp_table *const tables_evidence[] = {
    &table_hang_processes, &table_hang_stacks, &table_hang_ras,
    &table_hang_parts, NULL};
const struct jp_table *const tables_evidence_text[] = {
    &table_hang_processes, &table_hang_stacks, &table_hang_ras, NULL};
