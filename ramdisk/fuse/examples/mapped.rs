//! Stores through a shared mapping of a file, and then syncs another file. The test of mappings
//! runs it.
//!
//!     mapped STORED SYNCED

use std::fs::File;
use std::io::Write as _;
use std::num::NonZeroUsize;

use nix::sys::mman::{MapFlags, ProtFlags, mmap};

const PAGE: usize = 4096;

fn main() -> std::io::Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [stored, synced] = paths.as_slice() else {
        return Err(std::io::Error::other("mapped STORED SYNCED"));
    };
    let file = File::options().read(true).write(true).create(true).truncate(false).open(stored)?;
    file.set_len(PAGE as u64)?;
    let length = NonZeroUsize::new(PAGE).expect("a page has bytes");
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: the kernel chooses the address, and the file is as long as the mapping.
    let mapping = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, &file, 0)? };
    // SAFETY: the mapping has a page.
    unsafe { mapping.cast::<u8>().write_volatile(b'x') };
    let mut other = File::create(synced)?;
    other.write_all(b"other")?;
    other.sync_all()
}
