/* ncclGetVersion(), which plugins look up in their process. */
#include "contrib/ncclsim/sim_version.h"

#include <string.h>

#include "common/num.h"

static int release = 22902;

/* By interface; v4's is not the first one, 2.27.3, which plugins may refuse. */
static const int releases[] = {22902, 22304, 22403, 22602, 22707, 22803, 22902};

int sim_version_set(const char *text, int interface, struct jp_error *err)
{
    int64_t number = 0;
    int i;

    if (!text) {
        release = releases[interface];
        return 0;
    }
    for (i = 0; i < 3; i++) {
        size_t n = strcspn(text, ".");
        char word[8] = "";
        int64_t part;

        if (n >= sizeof(word) || (text[n] == '\0') != (i == 2))
            return error_set(err, "want X.Y.Z");
        memcpy(word, text, n);
        if (num_parse_i64(word, 0, 99, &part, err) < 0)
            return -1;
        number = number * 100 + part;
        text += n + (i < 2);
    }
    release = (int) number;
    return 0;
}

__attribute__((visibility("default"))) int ncclGetVersion(int *version)
{
    *version = release;
    return 0;
}
