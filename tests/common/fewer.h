/* fewer.h - how often a test repeats something that depends on chance. Under a
 * sanitizer, a fifth of the rounds is enough to take all paths of the code, and
 * each round costs three to ten times as much; shares and limits are checked
 * without them. */
#ifndef TESTS_COMMON_FEWER_H
#define TESTS_COMMON_FEWER_H

#ifdef __SANITIZE_ADDRESS__
#define FEWER_BY 5
#else
#define FEWER_BY 1
#endif
#define FEWER(rounds) ((rounds) / FEWER_BY)
/* A quarter of them, but for make soak, which sets LONG. */
#define SAMPLE(rounds) (getenv("LONG") ? (rounds) : FEWER((rounds) / 4))

#endif
