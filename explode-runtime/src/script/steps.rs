//! What was done, as plain commands.

use explode_ramdisk::files::Fallocate;

use super::data::Data;
use super::words::{hexadecimal, path, runnable, word};
use crate::choose::Choice;
use crate::events::{Done, How, What};
use crate::report::one_line;

/// Lines that do it again; `choices` are those of each mutate.
pub(super) fn lines(done: &[Done], choices: &[Vec<Choice>], data: &mut Data) -> Vec<String> {
    let mut lines = Vec::new();
    for Done { what, error } in done {
        if let What::Mutate(number) = what {
            let chosen = choices.get(*number as usize - 1).into_iter().flatten();
            let names: Vec<&str> = chosen.filter_map(|choice| choice.name.as_deref()).collect();
            let names =
                if names.is_empty() { String::new() } else { format!(": {}", names.join("; ")) };
            lines.push(format!("# Step {number}{}", one_line(&names)));
            continue;
        }
        let (command, comment) = command(what, data);
        let comment = one_line(&comment);
        lines.push(match error {
            Some(error) => format!("# ({comment} failed: {})", one_line(error)),
            None => format!("{command}    # {comment}"),
        });
    }
    lines
}

/// The command, and the call that it makes.
fn command(what: &What, data: &mut Data) -> (String, String) {
    match what {
        What::Mutate(_) => (String::new(), String::new()),
        What::Restart => (
            "umount \"$mnt\" && mount_it".to_owned(),
            "everything is durable from here on".to_owned(),
        ),
        What::Create(file, false) => {
            (format!(": >> {}", path(file)), format!("open(\"{file}\", O_CREAT)"))
        }
        What::Create(file, true) => {
            (format!(": > {}", path(file)), format!("open(\"{file}\", O_CREAT | O_TRUNC)"))
        }
        What::Write(file, at, bytes, how) => write(file, *at, bytes, *how, data),
        What::Resize(file, size) => (
            format!("truncate -s {size} {}", path(file)),
            format!("ftruncate of \"{file}\" to {size}"),
        ),
        What::Fsync(file) => (format!("sync {}", path(file)), format!("fsync of \"{file}\"")),
        What::Fdatasync(file) => {
            (format!("sync -d {}", path(file)), format!("fdatasync of \"{file}\""))
        }
        What::Mkdir(name) => (format!("mkdir {}", path(name)), "mkdir".to_owned()),
        What::Rmdir(name) => (format!("rmdir {}", path(name)), "rmdir".to_owned()),
        What::Link(from, to) => (format!("ln {} {}", path(from), path(to)), "link".to_owned()),
        What::Unlink(name) => (format!("rm {}", path(name)), "unlink".to_owned()),
        What::Rename(from, to) => {
            (format!("mv -T {} {}", path(from), path(to)), "rename".to_owned())
        }
        What::RenameNoReplace(from, to) => (
            format!("mv -nT {} {}", path(from), path(to)),
            "renameat2 with RENAME_NOREPLACE".to_owned(),
        ),
        What::Symlink(target, name) => {
            (format!("ln -s -- {} {}", word(target), path(name)), "symlink".to_owned())
        }
        // With fewer digits chmod(1) leaves a directory its bits 06000.
        What::Chmod(name, mode) => (format!("chmod {mode:05o} {}", path(name)), "chmod".to_owned()),
        What::Setxattr(file, name, value) => {
            // Without a value it is empty.
            let value = if value.is_empty() {
                String::new()
            } else {
                format!(" -v {}", hexadecimal(value))
            };
            (format!("setfattr -n {}{value} {}", word(name), path(file)), "setxattr".to_owned())
        }
        What::Removexattr(file, name) => {
            (format!("setfattr -x {} {}", word(name), path(file)), "removexattr".to_owned())
        }
        What::Fallocate(file, how, at, len) => fallocate(file, *how, *at, *len),
        What::LinkOpen(from, to) => {
            (format!("ln {} {}", path(from), path(to)), "linkat of the open file".to_owned())
        }
        What::Clone(from, to) => {
            (format!("cp --reflink=always {} {}", path(from), path(to)), "ioctl FICLONE".to_owned())
        }
        // No script is made of these: `Done::beyond_commands`.
        What::Exchange(..) => ("false".to_owned(), "renameat2 with RENAME_EXCHANGE".to_owned()),
        What::Unnamed(directory) => {
            ("false".to_owned(), format!("open(\"{directory}\", O_TMPFILE)"))
        }
        What::Syncfs => ("sync -f \"$mnt\"".to_owned(), "syncfs".to_owned()),
        What::Sync => ("sync".to_owned(), "sync".to_owned()),
        What::Shell(text) => {
            (format!("(\n    {}\n    )", runnable(text)), "the checker's own command".to_owned())
        }
    }
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

/// Programs that these commands call, and not every Linux has.
pub(super) fn programs(done: &[Done]) -> impl Iterator<Item = &'static str> {
    done.iter().filter(|done| done.error.is_none()).filter_map(|done| match done.what {
        What::Setxattr(..) | What::Removexattr(..) => Some("setfattr"),
        What::Fallocate(..) => Some("fallocate"),
        _ => None,
    })
}

fn write(file: &str, at: u64, bytes: &[u8], how: How, data: &mut Data) -> (String, String) {
    let len = bytes.len() as u64;
    let (flag, call) = match how {
        How::Plain => ("", "pwrite"),
        How::DataSynced => (" oflag=dsync", "pwrite through O_DSYNC"),
        How::Synced => (" oflag=sync", "pwrite through O_SYNC"),
        How::Mapped => {
            (" && sync -d", "stored through a shared mapping, and msync; dd and fdatasync here")
        }
    };
    let comment = format!("{call}: {len} bytes at byte {at} of \"{file}\"");
    if len == 0 {
        return (":".to_owned(), comment);
    }
    let unit = unit(at, len);
    let seek = if at == 0 { String::new() } else { format!(" seek={}", at / unit) };
    let (name, file) = (data.name(bytes), path(file));
    let dd = format!("dd if=\"$work/{name}\" of={file} bs={unit}{seek} conv=notrunc status=none");
    (if how == How::Mapped { format!("{dd}{flag} {file}") } else { format!("{dd}{flag}") }, comment)
}

/// The largest unit in which dd can count place and length; all at once at the beginning of a file.
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

/// A comment of the shell, whatever is in it.
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

/// A comment of the shell in one line, whatever is in the text.
pub(super) fn comment_line(text: &str) -> String {
    format!("# {}", one_line(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::{Kind, Label};

    #[test]
    fn dd_counts_in_the_largest_unit() {
        assert_eq!(
            [unit(0, 5000), unit(8192, 4096), unit(4096, 8192), unit(1000, 11_288)],
            [5000, 4096, 4096, 8]
        );
    }

    #[test]
    fn calls_are_commands() {
        let call = |what: What| command(&what, &mut Data::default()).0;
        assert_eq!(
            call(What::Rename("/a".into(), "/d/it's".into())),
            "mv -T \"$mnt/a\" \"$mnt\"'/d/it'\\''s'"
        );
        assert_eq!(
            call(What::Write("/a".into(), 4096, vec![1; 4096], How::DataSynced)),
            "dd if=\"$work/data1\" of=\"$mnt/a\" bs=4096 seek=1 conv=notrunc status=none \
             oflag=dsync"
        );
        for (what, line) in [
            (
                What::Setxattr("/a".into(), "user.a".into(), b"v\xff".to_vec()),
                "setfattr -n user.a -v 0x76ff \"$mnt/a\"",
            ),
            (
                What::Setxattr("/a".into(), "user.a b".into(), Vec::new()),
                "setfattr -n 'user.a b' \"$mnt/a\"",
            ),
            (What::Removexattr("/a".into(), "user.a".into()), "setfattr -x user.a \"$mnt/a\""),
            (What::Symlink("-to the".into(), "/l".into()), "ln -s -- '-to the' \"$mnt/l\""),
            (What::Chmod("/d".into(), 0o700), "chmod 00700 \"$mnt/d\""),
            (
                What::Fallocate("/a".into(), Fallocate::PunchHole, 4096, 512),
                "fallocate -p -o 4096 -l 512 \"$mnt/a\"",
            ),
            (What::RenameNoReplace("/a".into(), "/b".into()), "mv -nT \"$mnt/a\" \"$mnt/b\""),
            (What::Clone("/a".into(), "/b".into()), "cp --reflink=always \"$mnt/a\" \"$mnt/b\""),
        ] {
            assert_eq!(call(what), line);
        }
        assert_eq!(comment("a b\nc\x1b"), ["# a b", "# c\\u001b"]);
        assert_eq!(comment_line("a\nrm b\r\x1b"), "# a\\nrm b\\u000d\\u001b");
    }

    #[test]
    fn a_name_ends_no_comment() {
        let done = |what: What, error: Option<&str>| Done { what, error: error.map(str::to_owned) };
        let steps = [
            done(What::Mutate(1), None),
            done(What::Create("/a\nevil".into(), false), Some("no\nevil")),
            done(What::Shell("echo a\x1b".to_owned()), None),
        ];
        let choice = Choice {
            kind: Kind::Action,
            options: 1,
            value: 0,
            name: Some("add\nevil".to_owned()),
            label: Label::named("mutate"),
        };
        let lines = lines(&steps, &[vec![choice]], &mut Data::default());
        let [step, failed, shell] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(step, "# Step 1: add\\nevil");
        assert_eq!(failed, "# (open(\"/a\\nevil\", O_CREAT) failed: no\\nevil)");
        assert!(shell.contains("eval \"$(printf %b 'echo a\\0033')\""), "{shell}");
    }
}
