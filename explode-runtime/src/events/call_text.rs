//! Calls as an engineer reads them: the name of the system call and its arguments.

use std::fmt;

use explode_ramdisk::files::Fallocate;
use serde::{Deserialize, Serialize};

use super::what::{How, What};

/// A call in words. Two calls that differ only in their span can be shown as one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallText {
    /// The call and its path: `pwrite /db`.
    pub head: String,
    /// Offset and bytes, of a call that has them.
    pub span: Option<(u64, u64)>,
    /// Further arguments.
    pub tail: String,
}

impl fmt::Display for CallText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        if let Some((offset, bytes)) = self.span {
            write!(f, " {offset}+{bytes}")?;
        }
        match self.tail.is_empty() {
            true => Ok(()),
            false => write!(f, " {}", self.tail),
        }
    }
}

/// The words for what was done.
pub(super) fn text_of(what: &What) -> CallText {
    let bare = |head: String| CallText { head, span: None, tail: String::new() };
    let with = |head: String, tail: &str| CallText { tail: tail.to_owned(), ..bare(head) };
    match what {
        What::Mutate(number) => bare(format!("(mutate {number})")),
        What::Restart => bare("(unmount and mount)".to_owned()),
        What::Create(path, cuts) => {
            with(format!("open {path}"), if *cuts { "O_CREAT|O_TRUNC" } else { "O_CREAT" })
        }
        What::Write(path, offset, bytes, how) => {
            let (name, flag) = match how {
                How::Plain => ("pwrite", ""),
                How::DataSynced => ("pwrite", "O_DSYNC"),
                How::Synced => ("pwrite", "O_SYNC"),
                How::Mapped => ("mmap+msync", ""),
            };
            let span = Some((*offset, bytes.len() as u64));
            CallText { span, ..with(format!("{name} {path}"), flag) }
        }
        What::Resize(path, bytes) => bare(format!("ftruncate {path} {bytes}")),
        What::Fsync(path) => bare(format!("fsync {path}")),
        What::Fdatasync(path) => bare(format!("fdatasync {path}")),
        What::Mkdir(path) => bare(format!("mkdir {path}")),
        What::Rmdir(path) => bare(format!("rmdir {path}")),
        What::Link(from, to) => bare(format!("link {from} {to}")),
        What::Unlink(path) => bare(format!("unlink {path}")),
        What::Rename(from, to) => bare(format!("rename {from} {to}")),
        What::RenameNoReplace(from, to) => {
            with(format!("renameat2 {from} {to}"), "RENAME_NOREPLACE")
        }
        What::Exchange(from, to) => with(format!("renameat2 {from} {to}"), "RENAME_EXCHANGE"),
        What::Symlink(target, path) => bare(format!("symlink {target} {path}")),
        What::Chmod(path, mode) => bare(format!("chmod {path} {mode:o}")),
        What::Setxattr(path, name, value) => {
            with(format!("setxattr {path} {name}"), &format!("({} bytes)", value.len()))
        }
        What::Removexattr(path, name) => bare(format!("removexattr {path} {name}")),
        What::Fallocate(path, how, offset, bytes) => {
            let span = Some((*offset, *bytes));
            CallText { span, ..with(format!("fallocate {path}"), flag_of(*how)) }
        }
        What::Unnamed(directory) => with(format!("open {directory}"), "O_TMPFILE"),
        What::LinkOpen(path, to) => bare(format!("linkat {path} {to}")),
        What::Clone(from, to) => bare(format!("ioctl FICLONE {from} {to}")),
        What::Syncfs => bare("syncfs".to_owned()),
        What::Sync => bare("sync".to_owned()),
        What::Shell(command) => bare(command.clone()),
    }
}

fn flag_of(how: Fallocate) -> &'static str {
    match how {
        Fallocate::Allocate => "",
        Fallocate::KeepSize => "FALLOC_FL_KEEP_SIZE",
        Fallocate::PunchHole => "FALLOC_FL_PUNCH_HOLE",
        Fallocate::ZeroRange => "FALLOC_FL_ZERO_RANGE",
        Fallocate::CollapseRange => "FALLOC_FL_COLLAPSE_RANGE",
        Fallocate::InsertRange => "FALLOC_FL_INSERT_RANGE",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_read_as_a_trace_of_system_calls_does() {
        let text = |what: &What| text_of(what).to_string();
        let path = || "/db".to_owned();
        let write = |how| text(&What::Write(path(), 4096, vec![0; 512], how));
        assert_eq!(write(How::Plain), "pwrite /db 4096+512");
        assert_eq!(write(How::Synced), "pwrite /db 4096+512 O_SYNC");
        assert_eq!(text(&What::Fsync(path())), "fsync /db");
        assert_eq!(text(&What::Rename("/a".to_owned(), "/b".to_owned())), "rename /a /b");
        assert_eq!(text(&What::Create(path(), true)), "open /db O_CREAT|O_TRUNC");
        let hole = What::Fallocate(path(), Fallocate::PunchHole, 0, 4096);
        assert_eq!(text(&hole), "fallocate /db 0+4096 FALLOC_FL_PUNCH_HOLE");
    }
}
