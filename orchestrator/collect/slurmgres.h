/* slurmgres.h - names of generic resources in Slurm's resource strings.
 */
#ifndef JP_COLLECT_SLURMGRES_H
#define JP_COLLECT_SLURMGRES_H

#include <stdbool.h>
#include <stddef.h>

/* Appends the names in text to the comma list in buf, each once: "gpu,nvme" of
 * "gres:gpu:a100:4,gres/nvme=1". all_tres: text counts other resources too
 * ("cpu=4,gres/gpu=2"), only those with "gres" in front are taken. What does
 * not fit is left out; text may be NULL. */
void slurmgres_add(const char *text, bool all_tres, char *buf, size_t len);

#endif
