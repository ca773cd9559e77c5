// SPDX-License-Identifier: GPL-2.0
/*
 * For tests: a counter behind /proc/choosy whose results are choices of explode, and a log of records that requests crash checks. A write
 * runs the word that is written. A read returns the counter, and the answers to stray questions.
 *
 *	add	adds one. It may fail or have another result. The seeded bug: a failure also counts
 *	right	a failure does not count from here on
 *	wrong	a failure counts from here on
 *	many	asks with more options than are allowed
 *	reset	sets the counter to zero
 *
 *	disk PATH	puts the log on this block device: block 0 counts the records, block n is record n
 *	append		adds a record, with crash checks between its two writes. The bug: a record is counted before it is written
 *	close		stops using the log's disk
 *	ask		requests crash checks
 *	empty, null, long, full, latin1
 *			requests them with such a name. The name of full has the greatest length
 */

#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
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

/* Questions that explode must not receive: of another task, and of an interrupt. */
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

/* The log's disk. NULL without one. */
static struct file *disk;
static unsigned int records;
static char bytes[4096];

static noinline int put(unsigned int block, char byte)
{
	loff_t at = (loff_t)block * sizeof(bytes);

	memset(bytes, byte, sizeof(bytes));
	if (kernel_write(disk, bytes, sizeof(bytes), &at) != sizeof(bytes))
		return -EIO;
	return vfs_fsync(disk, 0);
}

static noinline int append(void)
{
	unsigned int record = records + 1;
	int error;

	if (!disk)
		return -ENODEV;
	error = wrong ? put(0, record) : put(record, record);
	spin_lock_irq(&lock);
	explode_check_crashes("half");
	spin_unlock_irq(&lock);
	if (error)
		return error;
	records = record;
	return wrong ? put(record, record) : put(0, record);
}

static void close_disk(void)
{
	if (disk)
		fput(disk);
	disk = NULL;
}

static int open_disk(const char *path)
{
	loff_t at = 0;

	close_disk();
	disk = filp_open(path, O_RDWR, 0);
	if (IS_ERR(disk)) {
		int error = PTR_ERR(disk);

		disk = NULL;
		return error;
	}
	if (kernel_read(disk, bytes, sizeof(bytes), &at) != sizeof(bytes))
		return -EIO;
	records = bytes[0];
	return 0;
}

static noinline int ask(const char *word)
{
	static char name[EKM_ASKED_MAX + 2];

	memset(name, 0, sizeof(name));
	if (!strcmp(word, "ask"))
		strscpy(name, "asked");
	else if (!strcmp(word, "null"))
		return explode_check_crashes(NULL), 0;
	else if (!strcmp(word, "long"))
		memset(name, 'n', EKM_ASKED_MAX + 1);
	else if (!strcmp(word, "full"))
		memset(name, 'n', EKM_ASKED_MAX);
	else if (!strcmp(word, "latin1"))
		strscpy(name, "h\xe4lf");
	else if (strcmp(word, "empty"))
		return -EINVAL;
	explode_check_crashes(name);
	return 0;
}

static ssize_t choosy_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	char word[64] = "";
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
	else if (!strncmp(word, "disk ", 5))
		error = open_disk(word + 5);
	else if (!strcmp(word, "append"))
		error = append();
	else if (!strcmp(word, "close"))
		close_disk();
	else
		error = ask(word);
	/* One option is not a choice, nor are zero options. */
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
	close_disk();
	irq_work_sync(&of_interrupt);
	flush_work(&of_task);
}

module_init(choosy_init);
module_exit(choosy_exit);
MODULE_DESCRIPTION("A counter that asks what happens");
MODULE_LICENSE("GPL");
