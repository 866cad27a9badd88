/* report_copper_guide.c - what Copper's counters count, for their readers.
 *
 * docs/copper.md says the same at length.
 */
#include "orchestrator/report/report_copper.h"

static const struct {
    const char *term, *meaning;
} guide[] = {
    {"Rank", "One cu_fuse daemon, normally one a node; not a task."},
    {"Counted operations",
     "Requests of the kernel to the daemon. Some (open, release, flush, lock, "
     "opendir) do nothing and take no time; an ioctl that Copper does not know "
     "(Python asks whether a file is a terminal) counts twice, as ioctl and "
     "as ext_getattr."},
    {"Measured latency",
     "Time in the daemon, summed over operations; the daemon's start (init) is "
     "in it and is shown apart here."},
    {"Cache hit",
     "Answered from memory - but for getattr, which counts as a hit even when "
     "the parent in the tree had to be asked. Its hit rate is about 100 % by "
     "construction."},
    {"Cache miss",
     "A read or readdir that was not in this daemon's cache. A child's first "
     "read fills its parents' caches, so the root may show none although it "
     "did all the reading. No counter tells what the file system served."},
    {"Negative result",
     "Of getattr: an ENOENT or another error. Of read: mostly files too large "
     "for the cache, and not absent ones. A failed readdir stands in the "
     "metadata table."},
    {"ENOENT stores, serves, expires",
     "Absent paths remembered, lookups answered from that memory, entries that "
     "ran out of time. A parent counts its children's requests, too: the root "
     "of the tree is unlike the others by nature."},
    {"Pre-destroy",
     "Written when the unmount begins; the final files follow two to three "
     "seconds later and say the same. Used where a final file is missing or "
     "cut."},
    {"Top paths",
     "The N busiest paths of each daemon: sums over them are lower "
     "bounds."},
    {"Full tables", "Every path: sums over them are exact."},
};

void report_copper_guide(FILE *out)
{
    fputs("<details><summary>How to read these figures</summary><dl>\n", out);
    for (size_t i = 0; i < sizeof(guide) / sizeof(*guide); i++)
        fprintf(out, "<dt>%s</dt><dd>%s</dd>\n", guide[i].term,
                guide[i].meaning);
    fputs("</dl></details>\n", out);
}
