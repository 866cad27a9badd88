/* machine.h - make a node's topology.xml and hardware.json from a few lines.
 *
 * A line is a word with its values; what lies in what is told by two blanks of
 * indentation a level:
 *
 *     product TEXT | vendor TEXT | hwloc VERSION | nonuma
 *     pkg               a package with a NUMA node of its own
 *     pkgs N            a package with N NUMA nodes; what hangs on it is
 *                       attached to the package
 *     pkgs N memory     the same, but of one place: HBM, or GPUs' memory
 *     cores N           cores of two threads
 *     numa              inside pkgs: its next NUMA node, as a group
 *     root [DOMAIN]     a host bridge
 *     port              a root port: one bridge
 *     switch            a PCI switch: root port, upstream port, and a
 * downstream port for each of what is in it gpu ID [nvml]     a GPU of NVIDIA's
 * with that device id; with NVML's object amd ID            one of AMD's hca
 * NAME ib|roce|efa|slingshot|opa [up|down|hidden] nvsw ID [marked]  an
 * NVSwitch; marked: as hwloc with NVML does vf NAME           a virtual
 * function of an HCA and, without indentation, the matrix of NVLink and what
 * NVML says: all MBS | pair I J MBS | toswitch MBS ... | cpu MBS hw links N
 * version V remote switch|unknown     of every GPU hw mesh N version V N links
 * between all pairs hw none                      asked, and no GPU has any hw
 * dead GPU N                so many of its links are inactive hw fabric UUID
 * CLIQUE | hw mig GPU | hw port NAME STATE | hw error
 */
#ifndef JP_TESTS_MACHINE_H
#define JP_TESTS_MACHINE_H

/* The machine [name] of a file. Both texts are malloc'ed; *hardware is NULL
 * where no line says hw. host: its host name. -1: the file has no such machine.
 * Ends the program where a line is wrong. */
int machine_make(const char *file, const char *name, const char *host,
                 char **xml, char **hardware);

#endif
