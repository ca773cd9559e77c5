/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Choices of explode, and requests for crash checks, for kernel modules of your own (docs/guide/kernel-faults.md,
 * docs/guide/writing-a-component.md).
 *
 *	#include "explode.h"
 *
 *	if (explode_choose(2) == 0)
 *		return -EIO;			// as if the device had failed
 *	// the usual way
 *
 *	explode_check_crashes("half");	// a crash here must lose nothing
 *
 * Copy this file to your sources; nothing else is needed to build them.
 */
#ifndef EXPLODE_H
#define EXPLODE_H

/* So many options a choice has at most. */
#define EKM_CHOOSE_MAX 65536u

/*
 * Exported by explode's module ekm (EXPORT_SYMBOL_GPL). Weak: a module that uses it can be loaded without ekm. Whether ekm is there
 * is found out when your module is loaded, so load it after ekm; it needs a licence that is compatible with the GPL.
 */
extern unsigned int ekm_choose(unsigned int options) __attribute__((weak));

/*
 * Chooses one of so many options: returns 0, 1, ... options - 1, each of them in some run (EX-10). The last one is to run normally: 0
 * of two is to fail (EX-13), and of more options the order is yours. options is from 2 to EKM_CHOOSE_MAX, at each place always the
 * same for the same past; 0 and 1 ask nothing and return 0; more than EKM_CHOOSE_MAX run normally, and make the run broken.
 *
 * It runs normally and asks nobody
 *  - without ekm, and where nobody explores the kernel's choices (option `fail` of a file system: `module`, or `all`);
 *  - in every task but the one that runs mutate, and in that one outside of its system calls on files;
 *  - in interrupts, softirqs among them, and in faults on user memory;
 *  - below the slab allocator's request for pages;
 *  - when as many have not run normally on this path as may (option `most_failures`).
 *
 * It may be called in any context, with any lock held: it takes none, does not sleep, and does not allocate.
 *
 * A choice is known by the function that asks and by the way there, as offsets: the same in every run of the same kernel and modules.
 */
static inline unsigned int explode_choose(unsigned int options)
{
	if (options < 2)
		return 0;
	return ekm_choose ? ekm_choose(options) : options - 1;
}

/* So many bytes the name of a request has at most, the zero behind it not counted. */
#define EKM_ASKED_MAX 255u

/* Exported by ekm, and weak, as ekm_choose is. */
extern void ekm_check_crashes(const char *name) __attribute__((weak));

/*
 * Asks for checks of every disk that a crash at this very moment could leave (EX-66). The checker's check has the name as its only
 * argument, in epoch now. It is called later: when the checker asks for crash checks the next time, or when mutate has returned.
 *
 * name is in UTF-8, 1 to EKM_ASKED_MAX bytes, and ends with a zero. Another name makes the run broken; NULL counts as empty.
 *
 * It does nothing without ekm, where explode does not run, and while no mutate runs. While a crash disk is recovered, mounted or
 * checked nothing may be asked: that makes the run broken. So it does not belong into code that a mount runs.
 *
 * It may be called in any task and in any context but an NMI, with any lock held: it takes none but its own, does not sleep, and does
 * not allocate.
 */
static inline void explode_check_crashes(const char *name)
{
	if (ekm_check_crashes)
		ekm_check_crashes(name);
}

#endif
