/* machine_hw.h - what NVML reports about a simulated node, for machine.c. */
#ifndef JP_TESTS_MACHINE_HW_H
#define JP_TESTS_MACHINE_HW_H

#define MACHINE_DEVICES 32

struct machine_hw {
    char busid[MACHINE_DEVICES][16]; /* of the GPUs; from machine.c */
    int n_gpus;
    int any; /* there is a hardware.json */
    int links, version, mesh, islands;
    int dead[MACHINE_DEVICES], unsure[MACHINE_DEVICES], mig[MACHINE_DEVICES];
    const char *probe;
    char remote[16], uuid[40], clique[16], ports[1200];
};

/* Takes a line "hw ...", split into words; absent ones are "". */
void machine_hw_line(struct machine_hw *hw, char **words);
/* Returns the text, which the caller frees; NULL if there is none. */
char *machine_hw_text(const struct machine_hw *hw);

#endif
