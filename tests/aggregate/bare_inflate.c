/* bare_inflate.c - decompress files to nowhere: the floor of reading .gz.
 *
 * bare_inflate [-z] FILE...: with the library that the reader takes, -z zlib,
 * as the library itself does it (gzip's checks among it); its name on stdout.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "common/inflate.h"

enum { IN = 64 * 1024, OUT = 256 * 1024 };

static unsigned char in[IN];
static char out[OUT];

static int by_zlib(FILE *f)
{
    z_stream z = {0};
    int rc = inflateInit2(&z, 15 + 16);

    while (rc == Z_OK && (z.avail_in = (uInt) fread(in, 1, IN, f))) {
        z.next_in = in;
        do {
            z.next_out = (unsigned char *) out;
            z.avail_out = OUT;
            rc = inflate(&z, Z_NO_FLUSH);
        } while (rc == Z_OK && (z.avail_in || !z.avail_out));
        rc = rc == Z_BUF_ERROR ? Z_OK : rc;
    }
    inflateEnd(&z);
    return rc == Z_STREAM_END ? 0 : -1;
}

static int by_engine(const struct inflate_engine *engine, FILE *f)
{
    struct inflate *z = engine->create();
    enum inflate_step step = INFLATE_MORE;
    size_t n;

    if (!z)
        return -1;
    while (step == INFLATE_MORE && (n = fread(in, 1, IN, f))) {
        size_t at = 0, taken, made;

        do {
            taken = n - at;
            made = OUT;
            step = engine->step(z, in + at, &taken, out, &made);
            at += taken;
        } while (step == INFLATE_MORE && (at < n || made == OUT));
    }
    engine->destroy(z);
    return step == INFLATE_END ? 0 : -1;
}

static int inflate_file(const struct inflate_engine *engine, const char *path)
{
    FILE *f = fopen(path, "r");
    int rc;

    if (!f)
        return -1;
    rc = engine == &inflate_zlib ? by_zlib(f) : by_engine(engine, f);
    fclose(f);
    return rc;
}

int main(int argc, char **argv)
{
    bool zlib = argc > 1 && !strcmp(argv[1], "-z");
    const struct inflate_engine *engine = zlib ? &inflate_zlib : inflate_best();

    puts(engine->name);
    for (int i = 1 + zlib; i < argc; i++)
        if (inflate_file(engine, argv[i]) < 0) {
            fprintf(stderr, "bare_inflate: %s\n", argv[i]);
            return 5;
        }
    return 0;
}
