/* elasticfile.h - the exception that ended a worker of torchelastic, as the
 * worker itself has written it.
 *
 * torchrun gives each worker a file name, TORCHELASTIC_ERROR_FILE. A program
 * whose main function has the decorator `record` (torch.distributed.elastic)
 * writes it before it ends by an exception:
 *
 *     {"message": {"message": "RuntimeError: boom", "extraInfo":
 *       {"py_callstack": "Traceback ...", "timestamp": "1700000000"}}}
 *
 * The outer message may be a text, without a call stack. The file is foreign
 * input. What is kept of it is one line of text each, cut to its room.
 */
#ifndef JP_LIVE_ELASTICFILE_H
#define JP_LIVE_ELASTICFILE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

#define ELASTICFILE_VARIABLE "TORCHELASTIC_ERROR_FILE"
/* A larger file is not read. */
#define ELASTICFILE_BYTES (256u << 10)

struct elasticfile {
    char type[64];     /* "RuntimeError"; "": unknown */
    char message[160]; /* first line of its text; "": none */
    /* the last line of the call stack that is neither of a package nor of
     * Python itself, else the last line: "train.py:10 in step"; "": none */
    char at[96];
};

/* Parses the text. 0, or -1 and err; *out is all zeros then. */
int elasticfile_parse(const char *text, size_t len, struct elasticfile *out,
                      struct jp_error *err);
/* Reads the file `name` of the folder `dir`, a descriptor, if it is a plain
 * file of the user. 0, or -1 and err; *out is all zeros then. */
int elasticfile_read(int dir, const char *name, uid_t uid,
                     struct elasticfile *out, struct jp_error *err);

#endif
