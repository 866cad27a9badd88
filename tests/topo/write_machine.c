/* write_machine.c - write the records of a machine of machines.txt.
 *
 * Usage: write_machine FILE MACHINE HOST XML [HARDWARE]. HARDWARE is only
 * written if the machine has one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "machine.h"

static int put(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    int bad = !out || fputs(text, out) < 0;

    if (out && fclose(out) != 0)
        bad = 1;
    if (bad)
        perror(path);
    return bad;
}

int main(int argc, char **argv)
{
    char *xml, *hardware;
    int bad;

    if (argc < 5) {
        fprintf(stderr, "usage: write_machine FILE MACHINE HOST XML "
                        "[HARDWARE]\n");
        return 2;
    }
    if (machine_make(argv[1], argv[2], argv[3], &xml, &hardware) < 0) {
        fprintf(stderr, "%s: no machine [%s]\n", argv[1], argv[2]);
        return 2;
    }
    bad = put(argv[4], xml);
    if (!bad && argc > 5 && hardware)
        bad = put(argv[5], hardware);
    free(xml);
    free(hardware);
    return bad;
}
