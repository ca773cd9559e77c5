//! The label of a choice in the kernel: its callers, by names and offsets, which are the same in
//! every run.

use xxhash_rust::xxh3::xxh3_64;

use explode_runtime::choose::Label;

/// Prefixes of functions that are omitted if a choice is in an allocator, so that the label names
/// their caller.
const ALLOCATORS: [&str; 19] = [
    "should_fail",
    "slab_",
    "kmem_cache_",
    "__kmem_cache_",
    "kmalloc",
    "__kmalloc",
    "krealloc",
    "__do_krealloc",
    "kvmalloc",
    "__kvmalloc",
    "kmemdup",
    "kstrdup",
    "mempool_",
    "alloc_pages",
    "__alloc_pages",
    "folio_alloc",
    "__folio_alloc",
    "filemap_alloc_folio",
    "__get_free_pages",
];

/// Prefixes of the functions between the submitter of a request and the disk, including symbols of
/// the disk's driver.
const SUBMISSION: [&str; 4] = ["rdd_ends_late", "_R", "submit_bio", "__submit_bio"];

/// Returns the label of a choice of the kind with this word. `frames` are the symbols with their
/// offsets, innermost first, as `name+0xoffset/0xsize [module]`. The first is the function of the
/// choice.
pub(crate) fn label(word: &str, frames: &[String], device: Option<u32>) -> Label {
    let caller = frames.iter().map(|frame| name(frame)).find(|name| !is_passed_over(word, name));
    let site = format!("{word} {}", caller.unwrap_or("?"));
    let stack: Vec<&str> =
        frames.iter().map(|frame| frame.split('/').next().unwrap_or_default()).collect();
    let stack = Some(xxh3_64(stack.join("\n").as_bytes()));
    Label { site, stack, object: device.map(|device| format!("disk {device}")) }
}

/// Returns the functions that lead to a choice of the kind with this word, innermost first, up to
/// the system call.
pub(crate) fn path(word: &str, frames: &[String]) -> String {
    let names = frames.iter().map(|frame| name(frame)).take_while(|name| *name != "do_syscall_64");
    let names: Vec<&str> = names.skip_while(|name| is_passed_over(word, name)).collect();
    names.join(" < ")
}

/// Returns the function of a symbol, and its module if it is in one.
pub(crate) fn place(symbol: &str) -> String {
    match symbol.split_once(' ') {
        Some((_, module)) => format!("{} {module}", name(symbol)),
        None => name(symbol).to_owned(),
    }
}

/// Returns true for functions between the caller that a label names and the function of the choice.
fn is_passed_over(word: &str, name: &str) -> bool {
    let mut prefixes = if word == "late" { SUBMISSION.iter() } else { ALLOCATORS.iter() };
    prefixes.any(|prefix| name.starts_with(prefix))
}

/// Returns the name of the function without the suffixes that the compiler has added.
fn name(frame: &str) -> &str {
    let name = frame.split('+').next().unwrap_or_default();
    name.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_of_the_allocator_is_the_site() {
        let frames = [
            "should_failslab+0x1/0x60",
            "slab_alloc_node.isra.0+0x3d/0x130",
            "kmem_cache_alloc_lru_noprof+0x3d/0x130",
            "ext4_alloc_inode+0x23/0x140",
            "alloc_inode.isra.0+0x18/0xd0",
        ]
        .map(str::to_owned);
        let label = |frames: &[String]| super::label("slab", frames, None);
        assert_eq!(label(&frames).site, "slab ext4_alloc_inode");
        assert_eq!(path("slab", &frames), "ext4_alloc_inode < alloc_inode");
        let mut other = frames.clone();
        other[4] = "alloc_inode.isra.0+0x19/0xd0".to_owned();
        assert_ne!(label(&frames).stack, label(&other).stack, "another call of the same function");
        assert_eq!(
            super::label("request", &frames[3..], Some(0)).object.as_deref(),
            Some("disk 0")
        );
    }

    #[test]
    fn the_submitter_of_a_late_write_is_the_site() {
        let frames = [
            "rdd_ends_late+0x0/0x10 [rdd]",
            "_RNvNtCs0_3rdd7request10submit_bio+0x9/0x40 [rdd]",
            "__submit_bio+0x1/0x60",
            "submit_bio_noacct_nocheck+0x3d/0x130",
            "blkdev_direct_IO+0x23/0x140",
            "do_syscall_64+0x1/0x2",
        ]
        .map(str::to_owned);
        assert_eq!(label("late", &frames, Some(1)).site, "late blkdev_direct_IO");
        assert_eq!(path("late", &frames), "blkdev_direct_IO");
    }
}
