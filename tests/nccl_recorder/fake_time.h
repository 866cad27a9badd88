/* fake_time.h - a clock that a scenario moves, for the recorder's waits.
 *
 * Defines clock_gettime() and syscall(). A test that links it with
 * -export-dynamic gives both to the recorder in place of libc's. From
 * fake_time_begin() on CLOCK_MONOTONIC stands still until the scenario lets
 * time pass, and a wait of the writer's thread ends by that clock. No figure
 * depends on how busy the machine is.
 */
#ifndef JP_FAKE_TIME_H
#define JP_FAKE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* Before the first communicator of a scenario. */
void fake_time_begin(void);

/* The recorder's monotonic time. */
uint64_t fake_time_ns(void);

/* Moves the clock from one deadline of the writer to its next one. Returns
 * when the writer has done what was due and waits again. */
void fake_time_pass_us(uint64_t us);

/* While this is on, the writer sleeps on although it is woken. No time may pass
 * meanwhile. */
void fake_time_hold(bool on);

/* Called in the writer thread where it shall hang. From then on each bounded
 * wait for the writer takes its whole time of this clock at once. */
void fake_time_hang(void) __attribute__((noreturn));

/* If set: sees each system call of the recorder, with five arguments, before it
 * is made. */
extern void (*fake_time_see)(long number, const long *arguments);

#endif
