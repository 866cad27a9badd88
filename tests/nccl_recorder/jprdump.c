/* jprdump.c - prints recorder files as JSON lines: jprdump FILE... */
#include "tests/nccl_recorder/jpr_text.h"

int main(int argc, char **argv)
{
    int i;
    int rc = 0;

    for (i = 1; i < argc; i++) {
        if (jpr_text(argv[i], stdout) < 0)
            rc = 1;
    }
    return rc;
}
