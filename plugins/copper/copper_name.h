/* copper_name.h - what a file of Copper's is, by its folder and name.
 *
 * Names are <host>-<pid>[-<tag>]-<kind>, the host may hold dashes and dots, so
 * a name is taken apart from its right end. Tagged files lie in a folder of the
 * tag's name, final ones in final/.
 */
#ifndef JP_PLUGINS_COPPER_NAME_H
#define JP_PLUGINS_COPPER_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum copper_kind {
    COPPER_FILE_AGGREGATE,
    COPPER_FILE_OPERATIONS,
    COPPER_FILE_TOP,
    COPPER_FILE_SUMMARY,
    COPPER_FILE_TABLE_METADATA, /* in the order of enum copper_category */
    COPPER_FILE_TABLE_DATA,
    COPPER_FILE_TABLE_TREE,
    COPPER_FILE_TABLE_TTL,
    COPPER_FILE_DUMP_COUNT, /* in the order of enum copper_dump */
    COPPER_FILE_DUMP_TIME,
    COPPER_FILE_DUMP_HIT,
    COPPER_FILE_DUMP_MISS,
    COPPER_FILE_DUMP_NEG,
    COPPER_FILE_SIZE_DATA, /* cache sizes */
    COPPER_FILE_SIZE_TREE,
    COPPER_FILE_SIZE_METADATA,
    COPPER_FILE_LOG,
    COPPER_FILE_OTHER, /* Copper's, of no use here */
    COPPER_FILE_BOOK,  /* of the cluster, without host and pid */
    COPPER_FILE_NODES, /* likewise */
    COPPER_N_FILES
};

/* When the file was written, best source first. */
enum copper_tag {
    COPPER_TAG_FINAL,
    COPPER_TAG_PRE_DESTROY,
    COPPER_TAG_RUNTIME, /* runtime-snapshot; -N: the Nth copy of it */
    COPPER_TAG_IOCTL,
    COPPER_TAG_PRE_RESET,
    COPPER_TAG_BEFORE, /* dumps that were made before the step */
    COPPER_N_TAGS
};
extern const char *const copper_tag_names[COPPER_N_TAGS];

#define COPPER_HOST_MAX 256

struct copper_name {
    enum copper_kind kind;
    enum copper_tag tag;
    uint64_t copy; /* of a snapshot: N of the folder <tag>-N; 0 none */
    char host[COPPER_HOST_MAX];
    int64_t pid; /* 0 where there is none */
};

/* False: not Copper's. folder is the file's folder's name. */
bool copper_name_parse(const char *folder, const char *file,
                       struct copper_name *name);

#endif
