/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The input of bindgen: the kernel's headers, and the constants that are casts there, which bindgen omits. It has names only and is
 * never compiled.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include <linux/dcache.h>
#include <linux/error-injection.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/sort.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <asm/processor.h>
#include <asm/unwind.h>
/* JFS: the place of extents and names in an inode, and records of its log. */
#include <../fs/jfs/jfs_incore.h>
#include <../fs/jfs/jfs_logmgr.h>

/* Block layer. */
const blk_features_t K_BLK_FEAT_WRITE_CACHE = BLK_FEAT_WRITE_CACHE;
const blk_features_t K_BLK_FEAT_FUA = BLK_FEAT_FUA;
const blk_features_t K_BLK_FEAT_NOWAIT = BLK_FEAT_NOWAIT;
const blk_opf_t K_REQ_FUA = REQ_FUA;
const blk_opf_t K_REQ_PREFLUSH = REQ_PREFLUSH;
const blk_opf_t K_REQ_OP_MASK = REQ_OP_MASK;
const blk_status_t K_BLK_STS_OK = BLK_STS_OK;
const blk_status_t K_BLK_STS_NOTSUPP = BLK_STS_NOTSUPP;
const blk_status_t K_BLK_STS_IOERR = BLK_STS_IOERR;

/* Page cache. */
const gfp_t K_XA_FLAGS_DIRTY = XA_FLAGS_MARK(PAGECACHE_TAG_DIRTY);
const xa_mark_t K_PAGECACHE_TAG_DIRTY = PAGECACHE_TAG_DIRTY;

/* Files. */
const fmode_t K_FMODE_WRITE = FMODE_WRITE;
const unsigned int K_ITER_SOURCE = ITER_SOURCE;

/* Time. */
const unsigned long K_HZ = HZ;

/* Memory. */
const gfp_t K_GFP_NOFAIL = __GFP_NOFAIL;
const unsigned long K_VM_WRITE = VM_WRITE;
const unsigned long K_VM_MAYWRITE = VM_MAYWRITE;
const unsigned long K_VM_SHARED = VM_SHARED;
const unsigned long K_KERNEL_IMAGE_SIZE = KERNEL_IMAGE_SIZE;
const unsigned long K_PAGE_SIZE = PAGE_SIZE;
const unsigned long K_TOP_OF_KERNEL_STACK = THREAD_SIZE - TOP_OF_KERNEL_STACK_PADDING;
