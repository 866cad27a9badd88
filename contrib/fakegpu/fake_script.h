/* What the GPUs of a machine without one are doing, over time, from a file.
 *
 * FAKEGPU_LOAD names a file of lines
 *     GPU NAME VALUE [FROM [TO]]
 * GPU is a number, or "*" for all of them. VALUE is a whole number, or A..B,
 * which goes evenly from A to B between FROM and TO and stays there: a counter
 * that counts, a card that gets hot. FROM and TO are seconds with a fraction
 * since the file was last written; a line holds from FROM (0) on and, unless it
 * is A..B, to TO (for ever). Of the lines that hold the last one counts. The
 * file is looked at in every call, so a test may also change it while somebody
 * samples. Other lines ("# remark") say nothing.
 */
#ifndef JP_FAKE_SCRIPT_H
#define JP_FAKE_SCRIPT_H

/* GPU `index`'s value of that name now. 0 or -1: the file does not have it.
 * Without a line for it *out stays as it is. */
int fake_script_find(int index, const char *name, unsigned long long *out);

/* The same of a text, `seconds` after it was written. */
int fake_script_find_in(const char *text, double seconds, int index,
                        const char *name, unsigned long long *out);

#endif
