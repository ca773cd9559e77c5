//! The logged actions as plain commands.

use explode_ramdisk::files::{Fallocate, FsCall, WriteMethod};

use super::embedded::EmbeddedData;
use super::words::{hexadecimal, path, runnable, word};
use crate::choose::Choice;
use crate::events::{LoggedAction, LoggedCall};
use crate::report::one_line;

/// Returns the lines that repeat the actions. `choices` are those of each mutate.
pub(super) fn lines(
    done: &[LoggedCall],
    choices: &[Vec<Choice>],
    data: &mut EmbeddedData,
) -> Vec<String> {
    let mut lines = Vec::new();
    for LoggedCall { what: action, error } in done {
        if let LoggedAction::Mutate(number) = action {
            let chosen = choices.get(*number as usize - 1).into_iter().flatten();
            let names: Vec<&str> = chosen.filter_map(|choice| choice.name.as_deref()).collect();
            let names =
                if names.is_empty() { String::new() } else { format!(": {}", names.join("; ")) };
            lines.push(format!("# Step {number}{}", one_line(&names)));
            continue;
        }
        let (command, comment) = command(action, data);
        let comment = one_line(&comment);
        lines.push(match error {
            Some(error) => format!("# ({comment} failed: {})", one_line(error)),
            None => format!("{command}    # {comment}"),
        });
    }
    lines
}

/// Returns the command for an action, and the call that the command makes.
fn command(action: &LoggedAction, data: &mut EmbeddedData) -> (String, String) {
    match action {
        LoggedAction::Mutate(_) => (String::new(), String::new()),
        LoggedAction::Restart => (
            "umount \"$mnt\" && mount_it".to_owned(),
            "everything is durable from here on".to_owned(),
        ),
        LoggedAction::Call(FsCall::Pwrite { path, offset, data: bytes, method }) => {
            write(path, *offset, bytes, *method, data)
        }
        LoggedAction::Call(call) => of_call(call),
        LoggedAction::Shell(text) => {
            (format!("(\n    {}\n    )", runnable(text)), "the checker's own command".to_owned())
        }
    }
}

/// Returns the command for a call that carries no data, and the call in words.
fn of_call(call: &FsCall) -> (String, String) {
    // No script is made of these calls: `LoggedCall::beyond_commands`.
    let none = || "false".to_owned();
    let (command, comment): (String, &str) = match call {
        FsCall::Open { path: file, flags } => {
            let (how, flag) = if flags.truncate { (">", " | O_TRUNC") } else { (">>", "") };
            let comment = format!("open(\"{file}\", O_CREAT{flag})");
            return (format!(": {how} {}", path(file)), comment);
        }
        FsCall::Ftruncate { path: file, size } => {
            let comment = format!("ftruncate of \"{file}\" to {size}");
            return (format!("truncate -s {size} {}", path(file)), comment);
        }
        FsCall::Fsync { path: file } | FsCall::FsyncDir { path: file } => {
            return (format!("sync {}", path(file)), format!("fsync of \"{file}\""));
        }
        FsCall::Fdatasync { path: file } => {
            return (format!("sync -d {}", path(file)), format!("fdatasync of \"{file}\""));
        }
        FsCall::Fallocate { path, mode, offset, len } => {
            return fallocate(path, *mode, *offset, *len);
        }
        FsCall::OpenUnnamed { directory } => {
            return (none(), format!("open(\"{directory}\", O_TMPFILE)"));
        }
        FsCall::Close { path } => return (none(), format!("close of \"{path}\"")),
        FsCall::Pwrite { path, .. } => return (none(), format!("pwrite to \"{path}\"")),
        FsCall::Mkdir { path: name } => (format!("mkdir {}", path(name)), "mkdir"),
        FsCall::Rmdir { path: name } => (format!("rmdir {}", path(name)), "rmdir"),
        FsCall::Link { from, to } => (format!("ln {} {}", path(from), path(to)), "link"),
        FsCall::Unlink { path: name } => (format!("rm {}", path(name)), "unlink"),
        FsCall::Rename { from, to } => (format!("mv -T {} {}", path(from), path(to)), "rename"),
        FsCall::RenameNoReplace { from, to } => {
            (format!("mv -nT {} {}", path(from), path(to)), "renameat2 with RENAME_NOREPLACE")
        }
        FsCall::Exchange { .. } => (none(), "renameat2 with RENAME_EXCHANGE"),
        FsCall::Symlink { target, path: name } => {
            (format!("ln -s -- {} {}", word(target), path(name)), "symlink")
        }
        // With fewer digits chmod(1) keeps the bits 06000 of a directory.
        FsCall::Chmod { path: name, mode } => (format!("chmod {mode:05o} {}", path(name)), "chmod"),
        FsCall::Setxattr { path: file, name, value } => {
            // Without `-v` the value is empty.
            let value = if value.is_empty() {
                String::new()
            } else {
                format!(" -v {}", hexadecimal(value))
            };
            (format!("setfattr -n {}{value} {}", word(name), path(file)), "setxattr")
        }
        FsCall::Removexattr { path: file, name } => {
            (format!("setfattr -x {} {}", word(name), path(file)), "removexattr")
        }
        FsCall::LinkOpen { from, to } => {
            (format!("ln {} {}", path(from), path(to)), "linkat of the open file")
        }
        FsCall::Clone { from, to } => {
            (format!("cp --reflink=always {} {}", path(from), path(to)), "ioctl FICLONE")
        }
        FsCall::CopyRange { from, to, offset, len } => {
            let copy = format!("copy_range -s {offset} -d {offset} -l {len} $mnt{from}");
            (format!("xfs_io -c \"{copy}\" {}", path(to)), "copy_file_range")
        }
        FsCall::Syncfs => ("sync -f \"$mnt\"".to_owned(), "syncfs"),
        FsCall::Sync => ("sync".to_owned(), "sync"),
    };
    (command, comment.to_owned())
}

fn fallocate(file: &str, how: Fallocate, at: u64, len: u64) -> (String, String) {
    let (option, flag) = match how {
        Fallocate::Allocate => ("", ""),
        Fallocate::KeepSize => (" -n", " with FALLOC_FL_KEEP_SIZE"),
        Fallocate::PunchHole => (" -p", " with FALLOC_FL_PUNCH_HOLE"),
        Fallocate::ZeroRange => (" -z", " with FALLOC_FL_ZERO_RANGE"),
        Fallocate::CollapseRange => (" -c", " with FALLOC_FL_COLLAPSE_RANGE"),
        Fallocate::InsertRange => (" -i", " with FALLOC_FL_INSERT_RANGE"),
    };
    (
        format!("fallocate{option} -o {at} -l {len} {}", path(file)),
        format!("fallocate{flag}: {len} bytes at byte {at} of \"{file}\""),
    )
}

/// Returns the programs that these commands call and that some Linux systems lack.
pub(super) fn programs(done: &[LoggedCall]) -> impl Iterator<Item = &'static str> {
    done.iter().filter(|done| done.error.is_none()).filter_map(|done| match done.what {
        LoggedAction::Call(FsCall::Setxattr { .. } | FsCall::Removexattr { .. }) => {
            Some("setfattr")
        }
        LoggedAction::Call(FsCall::Fallocate { .. }) => Some("fallocate"),
        LoggedAction::Call(FsCall::CopyRange { .. }) => Some("xfs_io"),
        _ => None,
    })
}

fn write(
    file: &str,
    at: u64,
    bytes: &[u8],
    how: WriteMethod,
    data: &mut EmbeddedData,
) -> (String, String) {
    let len = bytes.len() as u64;
    let (flag, call) = match how {
        WriteMethod::Plain => ("", "pwrite"),
        WriteMethod::DataSynced => (" oflag=dsync", "pwrite through O_DSYNC"),
        WriteMethod::Synced => (" oflag=sync", "pwrite through O_SYNC"),
        WriteMethod::Mapped => {
            (" && sync -d", "stored through a shared mapping, and msync; dd and fdatasync here")
        }
        WriteMethod::Appended => (" oflag=append", "pwrite through O_APPEND"),
        WriteMethod::Direct => (" oflag=direct", "pwrite through O_DIRECT"),
    };
    let comment = format!("{call}: {len} bytes at byte {at} of \"{file}\"");
    if len == 0 {
        return (":".to_owned(), comment);
    }
    let unit = unit(at, len);
    let seek = if at == 0 { String::new() } else { format!(" seek={}", at / unit) };
    let (name, file) = (data.name(bytes), path(file));
    let dd = format!("dd if=\"$work/{name}\" of={file} bs={unit}{seek} conv=notrunc status=none");
    (
        if how == WriteMethod::Mapped {
            format!("{dd}{flag} {file}")
        } else {
            format!("{dd}{flag}")
        },
        comment,
    )
}

/// Returns the largest unit in which dd can count offset and length. At the beginning of a file it
/// is the whole length.
fn unit(at: u64, len: u64) -> u64 {
    if at == 0 {
        return len;
    }
    if at.is_multiple_of(len) {
        len
    } else {
        1 << at.trailing_zeros().min(len.trailing_zeros()).min(16)
    }
}

/// Returns a comment of the shell for any text.
pub(super) fn comment(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::from("#");
        for part in paragraph.split_whitespace() {
            if line.len() + part.len() > 110 && line.len() > 1 {
                lines.push(std::mem::replace(&mut line, String::from("#")));
            }
            line.push(' ');
            line.push_str(&one_line(part));
        }
        lines.push(line);
    }
    lines
}

/// Returns a comment of the shell in one line for any text.
pub(super) fn comment_line(text: &str) -> String {
    format!("# {}", one_line(text))
}

#[cfg(test)]
mod tests {
    use explode_ramdisk::files::OpenFlags;

    use super::*;
    use crate::choose::{ChoiceKind, Label};

    #[test]
    fn dd_counts_in_the_largest_unit() {
        assert_eq!(
            [unit(0, 5000), unit(8192, 4096), unit(4096, 8192), unit(1000, 11_288)],
            [5000, 4096, 4096, 8]
        );
    }

    #[test]
    fn calls_are_commands() {
        let call =
            |call: FsCall| command(&LoggedAction::Call(call), &mut EmbeddedData::default()).0;
        let path = || "/a".to_owned();
        assert_eq!(
            call(FsCall::Rename { from: path(), to: "/d/it's".into() }),
            "mv -T \"$mnt/a\" \"$mnt\"'/d/it'\\''s'"
        );
        assert_eq!(
            call(FsCall::Pwrite {
                path: path(),
                offset: 4096,
                data: vec![1; 4096],
                method: WriteMethod::DataSynced
            }),
            "dd if=\"$work/data1\" of=\"$mnt/a\" bs=4096 seek=1 conv=notrunc status=none \
             oflag=dsync"
        );
        for (action, line) in [
            (
                FsCall::Setxattr { path: path(), name: "user.a".into(), value: b"v\xff".to_vec() },
                "setfattr -n user.a -v 0x76ff \"$mnt/a\"",
            ),
            (
                FsCall::Setxattr { path: path(), name: "user.a b".into(), value: Vec::new() },
                "setfattr -n 'user.a b' \"$mnt/a\"",
            ),
            (
                FsCall::Removexattr { path: path(), name: "user.a".into() },
                "setfattr -x user.a \"$mnt/a\"",
            ),
            (
                FsCall::Symlink { target: "-to the".into(), path: "/l".into() },
                "ln -s -- '-to the' \"$mnt/l\"",
            ),
            (FsCall::Chmod { path: "/d".into(), mode: 0o700 }, "chmod 00700 \"$mnt/d\""),
            (
                FsCall::Fallocate {
                    path: path(),
                    mode: Fallocate::PunchHole,
                    offset: 4096,
                    len: 512,
                },
                "fallocate -p -o 4096 -l 512 \"$mnt/a\"",
            ),
            (
                FsCall::RenameNoReplace { from: path(), to: "/b".into() },
                "mv -nT \"$mnt/a\" \"$mnt/b\"",
            ),
            (
                FsCall::Clone { from: path(), to: "/b".into() },
                "cp --reflink=always \"$mnt/a\" \"$mnt/b\"",
            ),
            (
                FsCall::CopyRange { from: path(), to: "/b".into(), offset: 0, len: 4096 },
                "xfs_io -c \"copy_range -s 0 -d 0 -l 4096 $mnt/a\" \"$mnt/b\"",
            ),
        ] {
            assert_eq!(call(action), line);
        }
        assert_eq!(comment("a b\nc\x1b"), ["# a b", "# c\\u001b"]);
        assert_eq!(comment_line("a\nrm b\r\x1b"), "# a\\nrm b\\u000d\\u001b");
    }

    #[test]
    fn a_name_cannot_end_a_comment() {
        let done = |what: LoggedAction, error: Option<&str>| LoggedCall {
            what,
            error: error.map(str::to_owned),
        };
        let flags = OpenFlags::CREATE;
        let create = FsCall::Open { path: "/a\nevil".into(), flags };
        let steps = [
            done(LoggedAction::Mutate(1), None),
            done(LoggedAction::Call(create), Some("no\nevil")),
            done(LoggedAction::Shell("echo a\x1b".to_owned()), None),
        ];
        let choice = Choice {
            kind: ChoiceKind::Action,
            options: 1,
            value: 0,
            name: Some("add\nevil".to_owned()),
            label: Label::named("mutate"),
        };
        let lines = lines(&steps, &[vec![choice]], &mut EmbeddedData::default());
        let [step, failed, shell] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(step, "# Step 1: add\\nevil");
        assert_eq!(failed, "# (open(\"/a\\nevil\", O_CREAT) failed: no\\nevil)");
        assert!(shell.contains("eval \"$(printf %b 'echo a\\0033')\""), "{shell}");
    }
}
