/* machine.h - make a node's topology.xml and hardware.json from a few lines.
 *
 * A line is a word with its values; what lies in what is told by two blanks of
 * indentation a level. Words without indentation that say of the machine:
 *
 *     product TEXT, vendor TEXT, arch NAME, hwloc VERSION, nonuma,
 *     restricted: made in a job that has CPUs of the first NUMA node only,
 *     nobridges: what hangs on a host bridge hangs on bridges between
 *
 * Places:
 *
 *     pkg            a package with a NUMA node of its own
 *     pkgs N         one with N; what hangs on it is attached to the package
 *     pkgs N memory  the same, but one place: HBM, or GPUs' memory
 *     numa           inside pkgs: its next NUMA node, as a group
 *     cores N        cores of two threads
 *     root [DOMAIN]  a host bridge
 *     port           a root port: one bridge
 *     switch         a PCI switch: root port, upstream port, and a downstream
 *                    port for each of what is in it
 *
 * Devices:
 *
 *     pcispeed GBS   of the PCI links of what follows; 0: not told
 *     gpu ID [nvml]  one of NVIDIA's by its device id; with NVML's object
 *     dev CLASS VENDOR ID
 *                    any device, without an object of its own
 *     hca NAME ib|roce|efa|slingshot|opa|vf|vf-roce [up|down|hidden [GUID]]
 *                    vf: a virtual function; GUID: the card's
 *     vf NAME        a virtual function of an HCA
 *     amd ID PARTS   one of AMD's with PARTS devices of its library
 *     intel ID       one of Intel's with its library's
 *     nvsw ID [marked]
 *                    an NVSwitch; marked: as hwloc with NVML does
 *
 * hwloc's matrix of NVLink: "all MBS", "pair I J MBS", "toswitch MBS ...".
 *
 * matrix NAME: what it is called, with the devices of amd and intel.
 *
 * What NVML says, so that there is a hardware.json:
 *
 *     hw links N version V remote switch|unknown
 *                    of every GPU
 *     hw mesh N version V
 *                    N links between all pairs
 *     hw islands N version V
 *                    N links to the other GPU of each two, and N to their CPU,
 *                    all of unknown kind (POWER9)
 *     hw none        it was asked, and no GPU has any
 *     hw dead GPU N  so many of its links are inactive
 *     hw fabric UUID CLIQUE, hw mig GPU, hw error,
 *     hw port NAME STATE [GBITS]
 */
#ifndef JP_TESTS_MACHINE_H
#define JP_TESTS_MACHINE_H

/* Makes the machine [name] of a file. Both texts are allocated; *hardware is
 * NULL if no line begins with hw. host: its host name. Returns -1 if the file
 * has no such machine. Ends the program if a line is wrong. */
int machine_make(const char *file, const char *name, const char *host,
                 char **xml, char **hardware);

#endif
