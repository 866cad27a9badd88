/* flight_tables.c - the columns of what dumps of PyTorch's Flight Recorder
 * show. See orchestrator/report/tables.c. */
#include "orchestrator/flight/flight_feature.h"

#include <string.h>

#include "orchestrator/report/tables.h"

/* --- operations that have not completed ----------------------------------- */

static size_t count_ops(const struct jp_report *report)
{
    const struct jp_flight *flight = flight_of(report);

    return flight ? flight->n_seen : 0;
}

static void find_op(struct jp_row *row)
{
    row->at = &flight_of(row->report)->seen[row->index];
}

static const struct flight_group *group_of(const struct jp_row *row)
{
    const struct flight_seen *seen = row->at;

    return &flight_of(row->report)->groups[seen->group];
}

/* Formats the members of a state. */
static void put_ranks(const struct flight_seen *seen, enum flight_state state,
                      struct jp_value *v)
{
    value_name(v, flight_ranks(seen, state, v->buf, sizeof(v->buf)));
}

/* Text of the rank that called first. */
static const char *where_of(const struct flight_seen *seen)
{
    return seen->first && seen->first->where ? seen->first->where : "";
}

JP_GETTER(fop_group, flight_seen, (void) at; value_name(v, group_of(row)->name))
JP_GETTER(fop_desc, flight_seen, (void) at; value_name(v, group_of(row)->desc))
JP_GETTER(fop_func, flight_seen, value_name(v, at->func))
JP_GETTER(fop_seq, flight_seen, value_signed(v, at->seq))
JP_GETTER(fop_since, flight_seen,
          value_known(v, at->since_us > 0, (uint64_t) at->since_us))
JP_GETTER(fop_age, flight_seen,
          value_known(v, at->age_us > 0, (uint64_t) at->age_us))
JP_GETTER(fop_limit, flight_seen,
          value_known(v, at->timeout_ms > 0, (uint64_t) at->timeout_ms * 1000))
JP_GETTER(fop_size, flight_seen,
          value_known(v, at->first != NULL, at->first ? at->first->in : 0))
JP_GETTER(fop_dtype, flight_seen,
          value_name(v, at->first ? at->first->dtype : ""))
JP_GETTER(fop_never, flight_seen, put_ranks(at, FLIGHT_NEVER, v))
JP_GETTER(fop_held, flight_seen, put_ranks(at, FLIGHT_HELD, v))
JP_GETTER(fop_inside, flight_seen, put_ranks(at, FLIGHT_INSIDE, v))
JP_GETTER(fop_done, flight_seen, put_ranks(at, FLIGHT_DONE, v))
JP_GETTER(fop_lost, flight_seen, put_ranks(at, FLIGHT_NO_DUMP, v))
JP_GETTER(fop_unsure, flight_seen, put_ranks(at, FLIGHT_UNSURE, v))
JP_GETTER(fop_differs, flight_seen, value_name(v, at->differs))
JP_GETTER(fop_where, flight_seen, value_name(v, where_of(at)))
JP_GETTER(fop_frames, flight_seen, v->type = JP_VALUE_LIST;
          v->n = at->first ? at->first->n_frames : 0;
          v->list = at->first ? (char *const *) at->first->frames : NULL)

/* sequence numbers are PyTorch's, ranks those of the job */
static const struct jp_column ops[] = {
    {"group", JP_COL_TEXT, JP_CSV | JP_MAYBE, 1, 1, 1, "Group",
     "PyTorch's name of the process group", .width = 10, .get = get_fop_group},
    {"desc", JP_COL_TEXT, JP_CSV | JP_MAYBE, 2, 2, 2, "What for",
     "the program's description of the group", .none = "", .width = 28,
     .get = get_fop_desc},
    {"function", JP_COL_TEXT, JP_CSV | JP_MAYBE, 3, 3, 3, "Function",
     "as PyTorch calls it", .width = 22, .get = get_fop_func},
    {"seq", JP_COL_RANK, JP_CSV | JP_MAYBE, 4, 4, 4, "Number",
     "among the group's collectives", .get = get_fop_seq},
    {"since_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE, 5, 5, 0, "Since",
     "the first rank called it", .get = get_fop_since},
    {"age_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP, 6, 6, 0, "At least",
     "from that call to the latest time in a dump", .get = get_fop_age},
    {"timeout_us", JP_COL_US, JP_CSV | JP_MAYBE, 7,
     .help = "PyTorch's limit of the call", .get = get_fop_limit},
    {"elements", JP_COL_COUNT, JP_CSV | JP_MAYBE, 8,
     .help = "of the inputs, of the rank that called first",
     .get = get_fop_size},
    {"dtype", JP_COL_TEXT, JP_CSV | JP_MAYBE, 9, .help = "of these elements",
     .get = get_fop_dtype},
    {"never", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 10, 7, 5, "Never",
     "ranks that never called it and are in nothing else", .none = "",
     .width = 12, .get = get_fop_never},
    {"elsewhere", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 11, 8, 6,
     "Elsewhere", "ranks that never called it and are in another operation",
     .none = "", .width = 12, .get = get_fop_held},
    {"inside", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 12, 9, 7, "Inside",
     "ranks that called it, and it has not completed there", .none = "",
     .width = 12, .get = get_fop_inside},
    {"done", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 13, 10, 8, "Left",
     "ranks in which it has completed", .none = "", .width = 12,
     .get = get_fop_done},
    {"no_dump", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 14, 11, 0, "No dump",
     "ranks that may be anywhere", .none = "", .get = get_fop_lost},
    {"unsure", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 15, 12, 0, "Not shown",
     "ranks whose dump does not show it", .none = "", .get = get_fop_unsure},
    {"differs", JP_COL_TEXT, JP_CSV | JP_MAYBE, 16, 13, 0, "Differs",
     "how the ranks' calls differ", .none = "", .get = get_fop_differs},
    {"where", JP_COL_CODE, JP_CSV | JP_MAYBE | JP_TIP, 17, JP_LAST, 0,
     "Called at", "the first frame of the program's own code", .none = "",
     .get = get_fop_where},
    {"frames", JP_COL_LIST, JP_CSV, 18,
     .help = "Python frames of the call, the innermost first",
     .max = FLIGHT_FRAMES, .get = get_fop_frames},
};

const struct jp_table table_flight_ops = {
    .name = "flight_ops",
    .json = "flight.ops",
    .help = "one row per collective that has not completed in some rank, by "
            "dumps of PyTorch's Flight Recorder; those that show the cause "
            "first. Later ones of a group that show nothing new are left out",
    JP_COLUMNS(ops),
    .count = count_ops,
    .find = find_op,
    .max_json = FLIGHT_SEEN_MAX,
    .max_html = 60,
    .max_text = 12,
    .title = "Collectives that have not completed",
    .unsorted = true,
};

/* --- dumps ---------------------------------------------------------------- */

static size_t count_dumps(const struct jp_report *report)
{
    const struct jp_flight *flight = flight_of(report);

    return flight ? flight->n_dumps : 0;
}

static void find_dump(struct jp_row *row)
{
    row->at = &flight_of(row->report)->dumps[row->index];
}

/* The oldest entry that has not completed; NULL: none. */
static const struct flight_op *oldest_of(const struct flight_dump *d)
{
    return d->n_ops ? d->ops : NULL;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

JP_GETTER(fdump_rank, flight_dump, value_signed(v, at->bad ? -1 : at->rank))
JP_GETTER(fdump_file, flight_dump, value_text(v, name_of(at->path)))
JP_GETTER(fdump_version, flight_dump, value_name(v, at->version))
JP_GETTER(fdump_nccl, flight_dump, value_name(v, at->nccl))
JP_GETTER(fdump_last, flight_dump,
          value_known(v, at->last_us > 0, (uint64_t) at->last_us))
JP_GETTER(fdump_in, flight_dump,
          value_name(v, oldest_of(at) ? oldest_of(at)->func : ""))
JP_GETTER(fdump_since, flight_dump,
          value_known(v, oldest_of(at) && oldest_of(at)->created_us > 0,
                      oldest_of(at) ? (uint64_t) oldest_of(at)->created_us : 0))
JP_GETTER(fdump_where, flight_dump,
          value_name(v, oldest_of(at) ? oldest_of(at)->where : ""))
JP_GETTER(fdump_culprit, flight_dump, bool found = false;
          for (size_t i = 0; i < flight_of(row->report)->n_culprits; i++)
              found |= !at->bad &&
                       flight_of(row->report)->culprits[i].rank == at->rank;
          v->type = JP_VALUE_BOOL; v->count = found)
JP_GETTER(fdump_why, flight_dump, value_name(v, at->why))

#define FIELD(member) JP_FIELD(struct flight_dump, member)
/* an entry is made when the program calls a collective */
static const struct jp_column dumps[] = {
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE, 1, 1, 1, "Rank",
     "by the file's name and its process groups", .get = get_fdump_rank},
    {"culprit", JP_COL_BOOL, JP_CSV | JP_TIP, 2, 2, 2, "Cause",
     "it holds up the others", .get = get_fdump_culprit},
    {"file", JP_COL_CODE, JP_CSV, 3, 3, 0, "File", "the dump",
     .get = get_fdump_file},
    {"version", JP_COL_TEXT, JP_CSV | JP_MAYBE, 4, 4, 0, "Version",
     "of the dump's format", .get = get_fdump_version},
    {"nccl", JP_COL_TEXT, JP_CSV | JP_MAYBE, 5,
     .help = "release of the communication library", .get = get_fdump_nccl},
    {"entries", JP_COL_COUNT, JP_CSV, 6, 5, 3, "Entries", "in the dump",
     FIELD(entries)},
    {"dropped", JP_COL_COUNT, JP_CSV | JP_TIP, 7, 6, 0, "Before",
     "calls before the first entry: the ring dropped them, or the dump leaves "
     "out completed ones",
     FIELD(dropped)},
    {"open", JP_COL_COUNT, JP_CSV | JP_TIP, 8, 7, 4, "Open",
     "entries that have not completed", FIELD(n_ops)},
    {"in", JP_COL_TEXT, JP_CSV | JP_MAYBE, 9, 8, 5, "Oldest",
     "function of the oldest of these", .none = "", .width = 24,
     .get = get_fdump_in},
    {"since_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE, 10, 9, 6, "Since",
     "the program called it", .get = get_fdump_since},
    {"last_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE, 11,
     .help = "the latest time in the dump", .get = get_fdump_last},
    {"where", JP_COL_CODE, JP_CSV | JP_MAYBE | JP_TIP, 12, 10, JP_LAST,
     "Called at", "the first frame of the program's own code", .none = "",
     .width = 26, .get = get_fdump_where},
    {"why", JP_COL_TEXT, JP_CSV | JP_MAYBE, 13, JP_LAST, 0, "Not used",
     "why the dump cannot be used", .none = "", .get = get_fdump_why},
};
#undef FIELD

const struct jp_table table_flight_dumps = {
    .name = "flight_dumps",
    .json = "flight.dumps",
    .help = "one row per dump of PyTorch's Flight Recorder",
    JP_COLUMNS(dumps),
    .count = count_dumps,
    .find = find_dump,
    .max_json = 10000,
    .max_html = 200,
    .max_text = 16,
    .title = "Flight Recorder dumps",
};

const struct jp_table *const tables_flight[] = {&table_flight_ops,
                                                &table_flight_dumps, NULL};
