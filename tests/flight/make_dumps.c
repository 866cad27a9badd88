/* make_dumps.c - write the dumps of a job of four ranks to a folder.
 * Usage: make_dumps SCENARIO MINOR torch|python|json DIR [RANK...] */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/flight/flight_make.h"

int main(int argc, char **argv)
{
    static const char *const forms[] = {"torch", "python", "json"};
    int scenario = 0, form = 0;

    if (argc < 5)
        return 2;
    while (scenario < MAKE_N_SCENARIOS && strcmp(argv[1], make_words[scenario]))
        scenario++;
    while (form < 3 && strcmp(argv[3], forms[form]))
        form++;
    if (scenario == MAKE_N_SCENARIOS || form == 3)
        return 2;
    for (int rank = 0; rank < 4; rank++) {
        struct make_dump dump;
        struct make_bytes bytes;
        char path[4096];
        bool wanted = argc == 5;
        FILE *out;

        for (int i = 5; i < argc; i++)
            wanted |= atoi(argv[i]) == rank;
        if (!wanted)
            continue;
        make_rank((enum make_scenario) scenario, rank, &dump);
        dump.minor = atoi(argv[2]);
        dump.form = (enum make_form) form;
        make_write(&dump, &bytes);
        snprintf(path, sizeof(path), "%s/nccl_trace_rank_%d%s", argv[4], rank,
                 form == MAKE_JSON ? ".json" : "");
        out = fopen(path, "w");
        if (!out || fwrite(bytes.at, 1, bytes.n, out) != bytes.n ||
            fclose(out) != 0) {
            fprintf(stderr, "%s: %s\n", path, strerror(errno));
            return 1;
        }
        free(bytes.at);
    }
    return 0;
}
