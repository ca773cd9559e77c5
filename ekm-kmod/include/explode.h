/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Choices of explode and requests for crash checks, for your own kernel modules. See docs/guide/kernel-faults.md and
 * docs/guide/writing-a-component.md.
 *
 *	#include "explode.h"
 *
 *	if (explode_choose(2) == 0)
 *		return -EIO;			// as if the device had failed
 *	// the usual way
 *
 *	explode_check_crashes("half");	// a crash here must lose nothing
 *
 * Copy this file to your sources. They need nothing else to build.
 */
#ifndef EXPLODE_H
#define EXPLODE_H

/* The largest number of options of a choice. */
#define EKM_CHOOSE_MAX 65536u

/*
 * Exported by explode's module ekm (EXPORT_SYMBOL_GPL). The symbol is weak, so your module can be loaded without ekm. The kernel
 * resolves it when it loads your module: load ekm first. Your module needs a licence that is compatible with the GPL.
 */
extern unsigned int ekm_choose(unsigned int options) __attribute__((weak));

/*
 * Chooses one of the options: returns 0, 1, ... options - 1, and some run takes each of them (EX-10). The last option is the normal
 * behaviour. Of two options 0 is the failure (EX-13). With more options you decide what each one does. `options` is from 2 to
 * EKM_CHOOSE_MAX, and equal wherever the same path leads to the same place. 0 and 1 are no choice: the function returns 0. A number
 * above EKM_CHOOSE_MAX returns the last option and makes the run broken.
 *
 * The function returns the last option without a choice
 *  - without ekm, or if the run does not explore choices in the kernel (option `fail` of a file system: `module` or `all`);
 *  - in every task except the one that runs mutate, and in that one outside its system calls on files;
 *  - in interrupts, softirqs included, and in faults on user memory;
 *  - below the slab allocator's request for pages;
 *  - if the path already has its maximum of failures (option `most_failures`).
 *
 * Call it in any context and with any lock held. It takes no lock, does not sleep and does not allocate.
 *
 * The label of a choice is the calling function and its call chain, as offsets. It is the same in every run of the same kernel and
 * modules.
 */
static inline unsigned int explode_choose(unsigned int options)
{
	if (options < 2)
		return 0;
	return ekm_choose ? ekm_choose(options) : options - 1;
}

/* The largest size of the name of a request in bytes, without the zero at its end. */
#define EKM_ASKED_MAX 255u

/* Exported by ekm and weak, as ekm_choose is. */
extern void ekm_check_crashes(const char *name) __attribute__((weak));

/*
 * Requests the checks of every disk that a crash at this moment could leave (EX-66). The check of the checker gets the name as its
 * only argument, in epoch now. It runs later: at the checker's next request for crash checks, or when mutate has returned.
 *
 * `name` is UTF-8, has 1 to EKM_ASKED_MAX bytes and ends with a zero. Any other name makes the run broken. NULL counts as empty.
 *
 * The function does nothing without ekm, outside of runs of explode, and while no mutate runs. A request while a crash disk is
 * recovered, mounted or checked makes the run broken, so do not call it in code that a mount runs.
 *
 * Call it in any task, in any context except an NMI, and with any lock held. It takes only its own lock, does not sleep and does not
 * allocate.
 */
static inline void explode_check_crashes(const char *name)
{
	if (ekm_check_crashes)
		ekm_check_crashes(name);
}

#endif
