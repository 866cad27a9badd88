/* course.h - when a finding held the others up, in slices of the samples. */
#ifndef JP_CAUSE_COURSE_H
#define JP_CAUSE_COURSE_H

#include "orchestrator/cause/cause.h"

struct course {
    /* how long others waited for it; of what the records tell */
    double waits_us[SAMPLES_SLICES];
    bool late[SAMPLES_SLICES]; /* the time of the finding */
    bool rest[SAMPLES_SLICES]; /* the rest of the time with operations */
    /* before and after the finding; what is between two of its waits is in rest
     * only, where nothing need have changed */
    bool outside[SAMPLES_SLICES];
    unsigned n_late, n_rest, n_outside;
    unsigned first, end; /* slices with operations; [first, end) */
    bool parts;          /* the finding is of a part of the run */
    bool varies;         /* waits_us does */
};

/* Of all findings; an array that the caller frees. NULL: no memory. */
struct course *courses_make(const struct causes_input *in);

#endif
