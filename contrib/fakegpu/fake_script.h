/* fake_script.h - values over time of GPUs that do not exist, from a file.
 *
 * FAKEGPU_LOAD names a file of lines
 *     GPU NAME VALUE [FROM [TO]]
 *
 * GPU is a number, or "*" for all GPUs. VALUE is an integer, or A..B, which
 * changes evenly from A to B between FROM and TO and then stays there, such as
 * a counter or a temperature. FROM and TO are seconds with a fraction since the
 * file was last written. A line holds from FROM (0) on and, unless it is A..B,
 * until TO (for ever). If several lines hold, the last one counts. The file is
 * checked in every call, so a test may change it while a program takes samples.
 * Other lines ("# remark") are ignored. */
#ifndef JP_FAKE_SCRIPT_H
#define JP_FAKE_SCRIPT_H

/* Finds GPU `index`'s value of that name now. Returns 0, or -1 with *out
 * unchanged if the file does not have it. */
int fake_script_find(int index, const char *name, unsigned long long *out);

/* The same for a text, `seconds` after it was written. */
int fake_script_find_in(const char *text, double seconds, int index,
                        const char *name, unsigned long long *out);

#endif
