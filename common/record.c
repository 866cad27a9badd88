/* record.c - which words a record may carry. */
#include "common/record.h"

bool record_is_word(const char *text, size_t len, size_t max)
{
    if (!len || len > max)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char b = (unsigned char) text[i];

        if (b <= 0x20 || b >= 0x7f || b == '"' || b == ',' || b == '/' ||
            b == '\\' || b == '<' || b == '>' || b == '&')
            return false;
    }
    return true;
}
