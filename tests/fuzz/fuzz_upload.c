/* fuzz_upload.c - any bytes as an action and a document of a file that upload
 * sends again. What is accepted is one of ours. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/jsonload.h"
#include "orchestrator/upload/upload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is the action, a line break, and the document. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct upload_what what = {UPLOAD_DETAILED, UPLOAD_SUMMARY, 1, NULL};
    const struct upload_allowed allowed = {
        .name = "f", .what = &what, .uid = 1000, .user = "alice"};
    const char *text = (const char *) data;
    const char *source = size ? memchr(text, '\n', size) : NULL;
    struct jp_error err = {""};
    size_t len, source_len;
    json_t *action, *meta;

    if (!source)
        return 0;
    len = (size_t) (source - text);
    source++;
    source_len = size - len - 1;
    if (!upload_is_action(text, len, &err)) {
        assert(err.text[0]);
        return 0;
    }
    action = json_loadb(text, len, 0, NULL);
    meta = json_object_get(action, "index");
    meta = meta ? meta : json_object_get(action, "create");
    assert(json_object_size(action) == 1 && json_object_size(meta) == 2);
    err.text[0] = '\0';
    if (upload_check(&allowed, text, len, source, source_len, &err) == 0) {
        const char *id = json_string_value(json_object_get(meta, "_id"));
        const char *index = json_string_value(json_object_get(meta, "_index"));

        assert(strncmp(id, "1000-", 5) == 0);
        assert(!strcmp(index, UPLOAD_DETAILED) ||
               !strcmp(index, UPLOAD_SUMMARY));
    } else {
        assert(err.text[0]);
    }
    json_decref(action);
    return 0;
}
