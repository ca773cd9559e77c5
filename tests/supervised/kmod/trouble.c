// SPDX-License-Identifier: GPL-2.0
/* For tests: a word that is written to /proc/trouble makes the kernel fail in that way. Other words have no effect. */

#include <linux/bug.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* A null pointer. The compiler must not know that. */
static int *volatile nowhere;

static ssize_t trouble_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	char word[8] = "";

	if (len >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, from, len))
		return -EFAULT;
	if (!strcmp(word, "oops"))
		WRITE_ONCE(*nowhere, 1);
	else if (!strcmp(word, "bug"))
		BUG();
	else if (!strcmp(word, "warn"))
		WARN(1, "on request\n");
	return len;
}

static const struct proc_ops trouble_ops = { .proc_write = trouble_write };

static int __init trouble_init(void)
{
	return proc_create("trouble", 0200, NULL, &trouble_ops) ? 0 : -ENOMEM;
}

static void __exit trouble_exit(void)
{
	remove_proc_entry("trouble", NULL);
}

module_init(trouble_init);
module_exit(trouble_exit);
MODULE_DESCRIPTION("Oopses, BUGs and warnings, on demand");
MODULE_LICENSE("GPL");
