/* request.h - parse what the user asks for: MODE[,key=value...].
 *
 * The mode comes first; then keys of that mode, each once, none empty. A
 * refusal is one sentence that names the word at fault and the nearest valid
 * one where it is near; the caller puts the option's name in front.
 */
#ifndef JP_COMMON_REQUEST_H
#define JP_COMMON_REQUEST_H

#include "common/error.h"
#include "common/grammar.h"

struct jp_request {
    const struct jp_grammar *grammar;
    int mode;                   /* index in grammar->modes */
    char *values[JP_KNOBS_MAX]; /* by knob; NULL: not given */
};

/* Parses text. On failure *out is unchanged; else request_fini frees. */
int request_parse(const struct jp_grammar *grammar, const char *text,
                  struct jp_request *out, struct jp_error *err);
void request_fini(struct jp_request *request);

#endif
