/* module_release.c - print the Slurm release for which a module was built:
 * "22.05". */
#include <stdio.h>

#include "orchestrator/doctor/doctor.h"

int main(int argc, char **argv)
{
    struct elfview view;
    struct jp_error err = {""};
    uint32_t number;

    if (argc != 2 || elfview_open(argv[1], &view, &err) < 0 ||
        elfview_number(&view, "plugin_version", &number, &err) < 0) {
        fprintf(stderr, "module_release: %s\n", err.text);
        return 1;
    }
    printf("%02u.%02u\n", number >> 16 & 255, number >> 8 & 255);
    elfview_close(&view);
    return 0;
}
