/* fewer.h - how often a test repeats what chance decides. Sanitizers look at
 * the code's paths, which a fifth of the rounds takes, too, and make each round
 * three to ten times as dear; shares and limits are judged without them. */
#ifndef TESTS_COMMON_FEWER_H
#define TESTS_COMMON_FEWER_H

#ifdef __SANITIZE_ADDRESS__
#define FEWER_BY 5
#else
#define FEWER_BY 1
#endif
#define FEWER(rounds) ((rounds) / FEWER_BY)

#endif
