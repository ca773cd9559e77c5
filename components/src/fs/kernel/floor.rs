//! The cost of checking a file system of the kernel without explode: the same programs and calls,
//! one after the other.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::command::forget_sync;
use explode_runtime::stack::BaselineCheck;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::tool::Tool;

/// The mount point.
const PLACE: &str = "/run/explode/floor";
/// The size of a read in bytes.
const CHUNK: usize = 64 << 10;
/// The largest number of bytes that are read of a file, because a recovered file may claim any
/// size.
const MOST: usize = 64 << 20;

/// Repairs, mounts, reads every file and unmounts. Failures to repair, mount or read are ignored.
pub(super) fn baseline(
    driver: &'static str,
    options: String,
    flags: MsFlags,
    repair: Option<Tool>,
) -> BaselineCheck {
    let at = PathBuf::from(PLACE);
    let mut buffer = vec![0; CHUNK];
    Box::new(move |node| {
        if let Some(repair) = &repair {
            forget_sync()?;
            repair.command(&[node]).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        }
        fs::create_dir_all(&at)?;
        if mount(Some(node), &at, Some(driver), flags, Some(options.as_str())).is_ok() {
            // A damaged file system may refuse anything.
            read_all(&at, &mut buffer).ok();
            umount2(&at, MntFlags::empty())?;
        }
        Ok(())
    })
}

fn read_all(directory: &Path, buffer: &mut [u8]) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        // No checker looks into the results of a repair.
        if kind.is_dir() && entry.file_name() != "lost+found" {
            read_all(&entry.path(), buffer)?;
        } else if kind.is_file() {
            read_file(&entry.path(), buffer)?;
        }
    }
    Ok(())
}

fn read_file(path: &Path, buffer: &mut [u8]) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut left = MOST;
    while left > 0 {
        match file.read(buffer)? {
            0 => break,
            read => left = left.saturating_sub(read),
        }
    }
    Ok(())
}
