/* reader_find.c - whose a file is, and what readers share. */
#include "plugins/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/logsource.h"
#include "plugins/backend.h"

#define BACKENDS_MAX 32

struct reader_states {
    void *of[BACKENDS_MAX]; /* by the registry's order */
};

void reader_note_bad(struct source_facts *facts, uint64_t line,
                     enum jp_bad kind, const char *why)
{
    if (!facts->bad[kind].n++)
        facts->bad[kind].line = line;
    if (!facts->bad_lines++) {
        facts->bad_line = line;
        snprintf(facts->why, sizeof(facts->why), "%s", why);
    }
}

int reader_refuse(struct source_facts *facts, const char *path,
                  const struct jp_error *err)
{
    size_t skip = strlen(path) + 2;

    facts->unreadable = true;
    snprintf(facts->trouble, sizeof(facts->trouble), "%.150s",
             strlen(err->text) > skip ? err->text + skip : err->text);
    return 0;
}

void reader_note_damage(struct source_facts *facts, const char *damage)
{
    if (damage && !facts->trouble[0])
        snprintf(facts->trouble, sizeof(facts->trouble), "%.150s", damage);
}

/* The first bytes of a file, unpacked. -1 and err. */
static ssize_t read_head(const char *path, char head[READER_HEAD],
                         struct jp_error *err)
{
    struct jp_logsource *source = logsource_open(path, err);
    ssize_t n = 0, got = 1;

    if (!source)
        return -1;
    while (n < READER_HEAD && got > 0) {
        got = logsource_read(source, head + n, (size_t) (READER_HEAD - n), err);
        n += got > 0 ? got : 0;
    }
    logsource_close(source);
    return got < 0 ? -1 : n;
}

const struct backend *reader_find(const char *path, bool rest,
                                  struct jp_error *err)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const struct backend *last = NULL;
    char head[READER_HEAD];
    ssize_t n;

    err->text[0] = '\0';
    n = read_head(path, head, err);
    for (size_t i = 0; n >= 0 && backend_registry[i]; i++) {
        const struct backend_reader *reader = backend_registry[i]->reader;

        if (reader && reader->probe && reader->probe(name, head, (size_t) n))
            return backend_registry[i];
        if (reader && reader->takes_rest)
            last = backend_registry[i];
    }
    return rest ? last : NULL;
}

struct reader_states *reader_states_create(void)
{
    return calloc(1, sizeof(struct reader_states));
}

void reader_states_destroy(struct reader_states *states)
{
    for (size_t i = 0; states && backend_registry[i] && i < BACKENDS_MAX; i++)
        if (states->of[i])
            backend_registry[i]->reader->destroy(states->of[i]);
    free(states);
}

int reader_read(struct reader_states *states, const struct backend *backend,
                const struct reader_input *in, const struct reader_sink *sink,
                struct source_facts *facts)
{
    const struct backend_reader *reader = backend->reader;
    size_t i = 0;

    while (backend_registry[i] && backend_registry[i] != backend)
        i++;
    if (i >= BACKENDS_MAX)
        return -1;
    if (reader->create && !states->of[i] && !(states->of[i] = reader->create()))
        return -1;
    return reader->read(states->of[i], in, sink, facts);
}
