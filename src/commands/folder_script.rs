//! `explode show --as sh` for a finding on simulated files: a script that builds the folder that
//! the crash has left, with plain tools.
//!
//! The recorded crash of the trace is replayed with its own check, before which the folder is
//! copied. Only a folder on which that check fails is kept. A trace without a recorded crash runs
//! the work again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use explode_components::command::files;
use explode_runtime::base::{Exit, OptionValue, quoted};
use explode_runtime::script::ScriptRefused;
use explode_runtime::trace::{ReplayResult, ReplaySource, Trace};
use explode_runtime::verdict::Verdict;

use crate::{output, workers};

/// The size of a block of zeroes that stays a hole.
const BLOCK: usize = 4096;
/// The end of the text of a file.
const END: &str = "END_OF_FILE";

/// Returns true if the finding is one on simulated files of programs.
pub fn is_on_files(trace: &Trace) -> bool {
    trace.stack.0.iter().any(|layer| layer.component == files::NAME)
}

/// Replays the trace and returns the script.
///
/// # Errors
/// The exit code, after the error is printed.
pub fn script(trace: &Trace, path: &str) -> Result<String, Exit> {
    let refused = |exit: Exit, why: String| Err(output::fail(exit, format!("{path}: {why}")));
    let cannot =
        |why: &str| refused(Exit::Usage, ScriptRefused::Cannot(why.to_owned()).to_string());
    let not_seen = |why: String| refused(Exit::Diverged, ScriptRefused::NotSeen(why).to_string());
    let is_resident = trace.checker_options.get("resident").is_some();
    let check = match (trace.verdict, trace.checker_options.get("check")) {
        (Verdict::CheckFailed, Some(OptionValue::Text(check))) if trace.epoch.is_some() => {
            if is_resident {
                of_resident(check)
            } else {
                check.clone()
            }
        }
        _ => return cannot("its check does not fail on what a crash has left"),
    };
    let copied = tempfile::tempdir().and_then(|folder| {
        let folder = folder.keep();
        let source = match &trace.recorded {
            Some(_) => ReplaySource::Recorded,
            None => ReplaySource::System,
        };
        let result = workers::replay(&copying(trace, &check, &folder)?, source);
        Ok((folder, result))
    });
    let (folder, result) = match copied {
        Ok(copied) => copied,
        Err(error) => return refused(Exit::Broken, error.to_string()),
    };
    let read = || {
        let script = FolderScript::of(&folder.join("tree"))?;
        io::Result::Ok((script, fs::read_to_string(folder.join("done"))?))
    };
    let written = match result {
        Ok(ReplayResult::Reproduced { .. }) => match read() {
            Ok((script, done)) => Ok(head(trace, &check, &done, &script) + &script.text),
            Err(error) => refused(Exit::Broken, error.to_string()),
        },
        Ok(ReplayResult::NotReproduced(_, why)) => not_seen(why),
        Ok(ReplayResult::Diverged(divergence)) => not_seen(divergence.to_string()),
        Err(error) => refused(error.exit(), error.to_string()),
    };
    // The copy is of no use any more. A folder that stays does no harm.
    let _ = fs::remove_dir_all(&folder);
    written
}

/// Returns a check of one state that asks a resident check.
fn of_resident(check: &str) -> String {
    let ask = r#"
done=$(tr '\n' ' ' <"$EXPLODE_DONE")
question=$(printf '%s\t%s\t%s\t%s' "$PWD" "$EXPLODE_EPOCH" "$EXPLODE_ARGS" "${done% }")
verdict=$(echo "$question" | ask | head -n 1)
case $verdict in
  ok) exit 0 ;;
  "fail "*) echo "${verdict#fail }" ;;
esac
exit 1"#;
    format!("ask() (\n{check}\n)\n{}", ask.trim_start())
}

/// Returns the trace with a check that first copies the folder to `to`.
fn copying(trace: &Trace, check: &str, to: &Path) -> io::Result<Trace> {
    let mut trace = trace.clone();
    let to = to.canonicalize()?;
    for layer in trace.stack.0.iter_mut().filter(|layer| layer.component == files::NAME) {
        let options = std::mem::take(&mut layer.options);
        let allowed = options.text("allow_write", "").map_err(io::Error::other)?;
        let allowed = format!("{allowed}:{}", to.display());
        layer.options = options.with("allow_write", allowed.trim_start_matches(':'));
    }
    let to = quoted(&to.display().to_string());
    let keep = "--preserve=mode,ownership,links,xattr";
    let check = format!(
        "rm -rf {to}/tree; cp -r -P {keep} . {to}/tree && cp \"$EXPLODE_DONE\" {to}/done || exit \
         126\n({check})\ne=$?; test $e -ne 0 || rm -rf {to}/tree; exit $e"
    );
    let options = std::mem::take(&mut trace.checker_options);
    let options = options.with("check", OptionValue::Text(check));
    trace.checker_options = options.with("resident", OptionValue::Bool(false));
    Ok(trace)
}

/// Returns the beginning of the script: the finding, and how to see it.
fn head(trace: &Trace, check: &str, done: &str, script: &FolderScript) -> String {
    let mut head = String::from("#!/bin/sh\n");
    let mut comment = |text: &str| {
        for line in text.lines() {
            head.push_str(format!("# {line}").trim_end());
            head.push('\n');
        }
    };
    comment("Builds the folder that a crash has left, as the check finds it.\n");
    comment(&format!("usage: sh SCRIPT NEW-FOLDER\n \n{}: {}", trace.verdict, trace.message));
    let FolderScript { first, bytes, .. } = script;
    let embedded = format!("It embeds {} files with {bytes} bytes.", first.len());
    comment(&format!("{embedded}\nFound by explode {}.", trace.explode));
    comment(" \nThe check, in that folder:");
    comment(&check.lines().map(|line| format!("  {line}\n")).collect::<String>());
    comment("$EXPLODE_DONE names a file with what had been done before the crash:");
    comment(&done.lines().map(|line| format!("  {line}\n")).collect::<String>());
    head.push_str("set -e\nmkdir -- \"$1\"\ncd -- \"$1\"\n");
    head
}

/// The commands that build a folder.
struct FolderScript {
    text: String,
    /// The first name of each file, by device and inode number.
    first: BTreeMap<(u64, u64), PathBuf>,
    /// The length of all files.
    bytes: u64,
}

impl FolderScript {
    /// Returns the commands for a folder.
    ///
    /// # Errors
    /// The folder cannot be read, or has something that no command makes.
    fn of(tree: &Path) -> io::Result<FolderScript> {
        let mut script = FolderScript { text: String::new(), first: BTreeMap::new(), bytes: 0 };
        script.folder(tree, Path::new("."))?;
        Ok(script)
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "{text}").expect("a String takes all");
    }

    /// Adds the contents of a folder in the order of names, then its own attributes.
    fn folder(&mut self, tree: &Path, below: &Path) -> io::Result<()> {
        let entries = fs::read_dir(tree.join(below))?.collect::<io::Result<Vec<_>>>()?;
        let mut names: Vec<_> = entries.iter().map(fs::DirEntry::file_name).collect();
        names.sort();
        for name in names {
            self.entry(tree, &below.join(name))?;
        }
        self.attributes(tree, below)
    }

    fn entry(&mut self, tree: &Path, path: &Path) -> io::Result<()> {
        let about = fs::symlink_metadata(tree.join(path))?;
        let (kind, name) = (about.file_type(), shown(path)?);
        if kind.is_dir() {
            self.line(&format!("mkdir {name}"));
            return self.folder(tree, path);
        }
        let first = self.first.entry((about.dev(), about.ino())).or_insert(path.to_owned()).clone();
        if first != path {
            let first = shown(&first)?;
            self.line(&format!("ln {first} {name}"));
            return Ok(());
        }
        if kind.is_symlink() {
            let target = shown(&fs::read_link(tree.join(path))?)?;
            self.line(&format!("ln -s -- {target} {name}"));
            return Ok(());
        }
        if kind.is_fifo() {
            self.line(&format!("mkfifo {name}"));
        } else if kind.is_file() {
            self.bytes += about.len();
            self.contents(&name, &fs::read(tree.join(path))?);
        } else {
            return Err(io::Error::other(format!("{name}: no command makes such a file")));
        }
        self.attributes(tree, path)
    }

    /// Adds the owner, the mode and the extended attributes.
    fn attributes(&mut self, tree: &Path, path: &Path) -> io::Result<()> {
        let (whole, name) = (tree.join(path), shown(path)?);
        let about = fs::symlink_metadata(&whole)?;
        if (about.uid(), about.gid()) != (0, 0) {
            self.line(&format!("chown {}:{} {name}", about.uid(), about.gid()));
        }
        self.line(&format!("chmod {:04o} {name}", about.mode() & 0o7777));
        let mut names = vec![0; 1 << 16];
        let length = rustix::fs::listxattr(&whole, &mut names)?;
        for key in names[..length].split(|byte| *byte == 0).filter(|key| !key.is_empty()) {
            let mut value = vec![0; 1 << 16];
            let length = rustix::fs::getxattr(&whole, key, &mut value)?;
            let key = quoted(&String::from_utf8_lossy(key));
            let value = STANDARD.encode(&value[..length]);
            self.line(&format!("setfattr -n {key} -v 0s{value} {name}"));
        }
        Ok(())
    }

    /// Adds the contents of a file: as text if possible, else its blocks that are not zeroes.
    fn contents(&mut self, name: &str, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).ok().filter(|text| is_plain(text));
        if let Some(text) = text {
            let text = if text.is_empty() {
                format!(": >{name}")
            } else {
                format!("cat >{name} <<'{END}'\n{text}{END}")
            };
            return self.line(&text);
        }
        self.line(&format!("truncate -s {} {name}", bytes.len()));
        let blocks = bytes.chunks(BLOCK).enumerate();
        let mut blocks = blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0)).peekable();
        while let Some((first, block)) = blocks.next() {
            let mut run = block.to_vec();
            let mut end = first + 1;
            while let Some((_, block)) = blocks.next_if(|(number, _)| *number == end) {
                run.extend_from_slice(block);
                end += 1;
            }
            let to = format!("dd of={name} bs={BLOCK} seek={first} conv=notrunc status=none");
            self.line(&format!("base64 -d <<'{END}' | {to}"));
            let encoded = STANDARD.encode(&run);
            for line in encoded.as_bytes().chunks(76) {
                self.line(&String::from_utf8_lossy(line));
            }
            self.line(END);
        }
    }
}

/// Returns true for lines of printable ASCII, each with its end.
fn is_plain(contents: &str) -> bool {
    let is_printable = |byte: u8| byte == b'\n' || byte == b' ' || byte.is_ascii_graphic();
    let has_ends = contents.is_empty() || contents.ends_with('\n');
    contents.bytes().all(is_printable) && has_ends && contents.split('\n').all(|line| line != END)
}

/// Returns a path for the shell.
fn shown(path: &Path) -> io::Result<String> {
    let text = path.to_str().ok_or_else(|| io::Error::other("a name is not UTF-8"))?;
    Ok(quoted(text))
}
