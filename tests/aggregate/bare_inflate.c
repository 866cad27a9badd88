/* bare_inflate.c - decompress files to nowhere: the floor of reading .gz.
 *
 * bare_inflate [-z] FILE...: with the engine that the reader takes, -z zlib's;
 * its name on stdout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/ingest/inflate.h"

enum { IN = 64 * 1024, OUT = 256 * 1024 };

static int inflate_file(const struct inflate_engine *engine, const char *path)
{
    static unsigned char in[IN];
    static char out[OUT];
    FILE *f = fopen(path, "r");
    struct inflate *z = engine->create();
    enum inflate_step step = INFLATE_MORE;
    size_t n;

    if (!f || !z)
        return -1;
    while (step == INFLATE_MORE && (n = fread(in, 1, sizeof(in), f))) {
        size_t at = 0, taken, made;

        do {
            taken = n - at;
            made = sizeof(out);
            step = engine->step(z, in + at, &taken, out, &made);
            at += taken;
        } while (step == INFLATE_MORE && (at < n || made == sizeof(out)));
    }
    engine->destroy(z);
    fclose(f);
    return step == INFLATE_END ? 0 : -1;
}

int main(int argc, char **argv)
{
    const struct inflate_engine *engine = inflate_best();
    int i = 1;

    if (argc > 1 && !strcmp(argv[1], "-z")) {
        engine = &inflate_zlib;
        i++;
    }
    puts(engine->name);
    for (; i < argc; i++)
        if (inflate_file(engine, argv[i]) < 0) {
            fprintf(stderr, "bare_inflate: %s\n", argv[i]);
            return 5;
        }
    return 0;
}
