// SPDX-License-Identifier: GPL-2.0
/*
 * For tests: a counter behind /proc/choosy that asks explode what happens. A word that is written there is done; what is read is the
 * counter, and what stray questions were answered.
 *
 *	add	one more. It may fail, or take another way; that failing counts all the same is the seeded bug
 *	right	from here on it does not
 *	wrong	from here on it does
 *	many	asks for more options than there may be
 *	reset	nothing was counted
 */

#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "explode.h"

static DEFINE_SPINLOCK(lock);
static unsigned int count, others, strays;
static bool wrong;

/* Questions that nobody must hear: of another task, and of an interrupt. */
static void stray(struct work_struct *work)
{
	strays += explode_choose(2) != 1;
}
static DECLARE_WORK(of_task, stray);

static void stray_irq(struct irq_work *work)
{
	strays += !in_hardirq() || explode_choose(2) != 1;
}
static DEFINE_IRQ_WORK(of_interrupt, stray_irq);

static noinline int add(void)
{
	unsigned int way;

	irq_work_queue(&of_interrupt);
	irq_work_sync(&of_interrupt);
	schedule_work(&of_task);
	flush_work(&of_task);
	spin_lock_irq(&lock);
	count++;
	way = explode_choose(3);
	if (way == 0 && !wrong)
		count--;
	if (way == 1)
		others++;
	spin_unlock_irq(&lock);
	return way == 0 ? -EIO : 0;
}

static ssize_t choosy_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	char word[8] = "";
	int error = 0;

	if (len >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, from, len))
		return -EFAULT;
	if (!strcmp(word, "add"))
		error = add();
	else if (!strcmp(word, "right"))
		wrong = false;
	else if (!strcmp(word, "wrong"))
		wrong = true;
	else if (!strcmp(word, "many"))
		error = explode_choose(EKM_CHOOSE_MAX + 1) == EKM_CHOOSE_MAX ? 0 : -EIO;
	else if (!strcmp(word, "reset"))
		count = others = strays = 0;
	else
		error = -EINVAL;
	/* One option is no choice, and none is none. */
	strays += explode_choose(1) != 0 || explode_choose(0) != 0;
	return error ? error : len;
}

static int show(struct seq_file *seq, void *unused)
{
	seq_printf(seq, "%u %u %u\n", count, others, strays);
	return 0;
}

static int choosy_open(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static const struct proc_ops choosy_ops = {
	.proc_open = choosy_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = choosy_write,
};

static int __init choosy_init(void)
{
	return proc_create("choosy", 0600, NULL, &choosy_ops) ? 0 : -ENOMEM;
}

static void __exit choosy_exit(void)
{
	remove_proc_entry("choosy", NULL);
	irq_work_sync(&of_interrupt);
	flush_work(&of_task);
}

module_init(choosy_init);
module_exit(choosy_exit);
MODULE_DESCRIPTION("A counter that asks what happens");
MODULE_LICENSE("GPL");
