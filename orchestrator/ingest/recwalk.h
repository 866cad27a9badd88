/* recwalk.h - the recorder's files below some inputs, one after the other.
 *
 *     while ((file = recwalk_open(&walk)))
 *         while (recwalk_record(&walk, &record))
 *             ...
 *
 * Files that are not the recorder's are counted and passed over. Trouble with
 * a file (unreadable, a damaged block) is counted and told by `say`, and
 * the walk goes on.
 */
#ifndef JP_INGEST_RECWALK_H
#define JP_INGEST_RECWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"
#include "plugins/nccl_recorder/recfile.h"

struct jp_recwalk {
    /* one sentence that names file and offset; NULL: nobody listens */
    void (*say)(void *arg, const char *text);
    void *arg;
    /* asked before each file is opened; non-zero: the walk ends here, stopped.
     * NULL: nobody asks */
    int (*look)(void *arg);
    void *look_arg;
    bool stopped;
    struct jp_logwalk walk;
    size_t next;       /* of walk.logs */
    const char *path;  /* of the open file */
    const char *below; /* the same without the input it was found in */
    const char *const *inputs;
    size_t n_inputs;
    bool is_open;
    struct jp_recfile file;
    uint64_t files, others;
    uint64_t troubles; /* damaged or unreadable: data is missing */
};

/* inputs are borrowed. 0, or -1: no such input, no memory. */
int recwalk_init(struct jp_recwalk *walk, const char *const *inputs, size_t n,
                 struct jp_error *err);
/* From the first file on, all counts 0 again. */
void recwalk_rewind(struct jp_recwalk *walk);
void recwalk_fini(struct jp_recwalk *walk);

/* Opens the next file, closing the one before; NULL at the end. */
struct jp_recfile *recwalk_open(struct jp_recwalk *walk);
/* The next record of the open file; false at its end. */
bool recwalk_record(struct jp_recwalk *walk, struct jpr_record *record);

#endif
