//! The stand-alone shell script.

use itertools::Itertools as _;

use super::embedded::EmbeddedData;
use super::reproduction::Reproduction;
use super::steps::comment;
use super::words::{printable, word};
use super::{demands, steps};
use crate::base::quoted;
use crate::crash::Epoch;
use crate::devices::IMAGE;
use crate::stack::ShellFileSystem;

/// The common part of all scripts.
pub(super) const LIBRARY: &str = include_str!("library.sh");
/// The functions that build a disk from recorded blocks.
pub(super) const RECORDED: &str = include_str!("recorded.sh");
/// The part that only the stand-alone script has.
const ALONE: &str = include_str!("alone.sh");

/// The parts of a case that all scripts have.
pub(super) struct ScriptParts {
    /// The settings and functions about the file system.
    pub settings: Vec<String>,
    /// The functions that create data, do the workload and test the demands.
    pub functions: Vec<String>,
    /// The embedded data.
    pub data: EmbeddedData,
    /// The programs that the script needs.
    pub programs: Vec<String>,
}

impl Reproduction {
    /// Returns the stand-alone script. `path` is the path of the trace.
    pub fn shell(&self, path: &str) -> String {
        let ScriptParts { settings, functions, data, programs } = self.parts();
        let disks = self.recorded(&data);
        let programs = all(programs, disks.programs);
        let mut lines = vec!["#!/bin/sh".to_owned()];
        lines.extend(self.listed());
        lines.push("#".to_owned());
        lines.extend(comment(&self.head()));
        lines.push("#".to_owned());
        lines.extend(comment(&self.honesty(path)));
        let attr = if programs.iter().any(|program| program.ends_with("fattr")) {
            "\ngetfattr and setfattr are in the package attr."
        } else {
            ""
        };
        lines.push("#".to_owned());
        lines.extend(comment(&format!(
            "usage: as root, `sh SCRIPT [--control] [DEVICE]`. Exit code 1: the loss is there. 0: \
             it is not. 2: something is missing, or \
             could not be done.\nNeeds {}, a loop device or a block device that may be \
             overwritten, and the file system {} in the kernel.{attr}",
            programs.join(", "),
            self.system.driver
        )));
        lines.extend([String::new(), "set -u".to_owned()]);
        lines.push("PATH=$PATH:/usr/sbin:/sbin".to_owned());
        lines.push("export LC_ALL=C".to_owned());
        lines.push(format!("programs='{}'", programs.join(" ")));
        lines.extend(settings);
        lines.extend(disks.settings);
        lines.push(format!("control_disk={}", self.control()));
        lines.push(String::new());
        lines.extend(functions);
        lines.push(String::new());
        lines.extend(disks.functions);
        lines.push(String::new());
        let text = lines.join("\n");
        format!("{text}\n{LIBRARY}\n{RECORDED}\n{ALONE}")
    }

    /// Returns the kind of disk to compare with: the recorded disk that has lost nothing, if it is
    /// sound and differs from the crash disk. Otherwise the disk after an unmount, if the demands
    /// hold after the workload.
    fn control(&self) -> &'static str {
        match &self.disks.other {
            Some(blocks) if !blocks.is_empty() => "recorded",
            _ if self.is_after() => "unmounted",
            _ => "no",
        }
    }

    /// Returns true if the demands hold after the workload.
    fn is_after(&self) -> bool {
        matches!(self.trace.epoch, Some(Epoch::Now | Epoch::End)) && !self.demands.is_empty()
    }

    /// Returns the text about what the script shows.
    pub(super) fn head(&self) -> String {
        let Reproduction { trace, violation, promise, .. } = self;
        // The hash of an image is useless without explode.
        let found = trace.versions.iter().filter(|(name, _)| *name != IMAGE);
        let found = found.map(|(name, version)| format!("{name} {version}"));
        let found: Vec<String> = found.collect();
        let mut text = format!(
            "{}: {}: {}\nFound by {} on {} ({}).",
            self.system.driver,
            violation.verdict,
            violation.message,
            trace.signature,
            trace.stack.names().join(", "),
            found.join(", ")
        );
        if let Some(line) = promise {
            let kept = if line.kept { "Promised by" } else { "Not promised by" };
            text.push_str(&format!(
                "\n{kept} {}: \"{}\" ({})",
                line.system, line.quote, line.source
            ));
        }
        let options = trace.stack.0.iter().flat_map(|layer| layer.options.iter());
        let options: Vec<String> = options.map(|(name, value)| format!("{name}={value}")).collect();
        if !options.is_empty() {
            text.push_str(&format!("\nOptions of the stack: {}", options.join(", ")));
        }
        text
    }

    /// Returns the text about what the script does not show.
    pub(super) fn honesty(&self, path: &str) -> String {
        let clause = self.trace.stack.0.iter().any(|layer| {
            layer
                .options
                .iter()
                .any(|(name, value)| name == "flushes" && value.to_string() == "dropped")
        });
        let clause = if clause { " The disk was one that ignores flushes." } else { "" };
        format!(
            "The workload is done anew, by commands; nothing is concluded from what it leaves. \
             The disk that the crash has left is \
             recorded: its blocks were written by the kernel named above, to a disk with a \
             volatile write cache, and are in this file. \
             Which of the pending writes reach such a disk when its power fails is not known; \
             this is one of the disks that it may hold.{clause} \
             So a kernel that writes or flushes otherwise is not shown to be right or wrong by \
             this: run it on dm-log-writes, and look at \
             the disk after the last flush before the promise was made (replay-log of xfstests; \
             `explode crash-disks` reads that log, too).\n\
             Replay of the whole: explode replay {}",
            quoted(path)
        )
    }

    /// Returns the parts that all scripts have.
    pub(super) fn parts(&self) -> ScriptParts {
        let Reproduction { done, bytes, system, .. } = self;
        let mut data = EmbeddedData::default();
        let workload = steps::lines(done, &self.choices, &mut data);
        let (looks, demands) = demands::lines(&self.demands, &mut data);
        let mut settings = vec![
            format!("bytes={bytes}"),
            format!("type={}", word(&system.driver)),
            "# When the check's demands hold: after the workload, or in the midst of it."
                .to_owned(),
            format!("when={}", if self.is_after() { "after" } else { "amid" }),
        ];
        settings.extend(of_system(system));
        let mut functions = vec!["# Bytes that are written or looked for.".to_owned()];
        functions.extend(function("make_data", data.lines()));
        functions.push(String::new());
        functions.push(
            "# What was done, each call by a command that makes it; the last comment says which."
                .to_owned(),
        );
        functions.extend(function("workload", workload));
        functions.push(String::new());
        functions.push("# What was promised.".to_owned());
        functions.extend(looks);
        functions.extend(function("demands", demands));
        ScriptParts { settings, functions, data, programs: programs(self) }
    }
}

/// Returns a function of the shell. Here documents and commands of several lines are not indented.
pub(super) fn function(name: &str, lines: Vec<String>) -> Vec<String> {
    let mut into = vec![format!("{name}() {{")];
    let mut inside = false;
    let mut empty = true;
    for line in lines {
        empty &= line.starts_with('#') || line.is_empty();
        if inside {
            inside = line != "END";
            into.push(line);
        } else {
            inside = line.ends_with("<<'END'");
            into.push(if line.contains('\n') { line } else { format!("    {line}") });
        }
    }
    if empty {
        into.push("    :".to_owned());
    }
    into.push("}".to_owned());
    into
}

fn of_system(system: &ShellFileSystem) -> Vec<String> {
    let ShellFileSystem { options, make, repair, strict, .. } = system;
    let (repair, repaired) = match repair {
        Some((line, codes)) => (Some(line), codes.clone()),
        None => (None, Vec::new()),
    };
    let name =
        repair.and_then(|line| line.split_whitespace().next()).unwrap_or("no repair: mounting");
    let codes: Vec<String> = [0].into_iter().chain(repaired).map(|code| code.to_string()).collect();
    let on_device = |line: Option<&String>| match line {
        Some(line) => format!("{} \"$dev\"", line.trim()),
        None => ":".to_owned(),
    };
    // The output of the strict check is in this file (`look_strictly`).
    let finds = strict.as_ref().and_then(|(_, finds)| finds.as_ref());
    let finds = finds
        .map(|words| format!(" && ! grep -qF {} \"$work/said\"", word(words)))
        .unwrap_or_default();
    vec![
        format!("repairer={} repaired='{}'", word(name), codes.join(" ")),
        format!("strict={}", if strict.is_some() { "yes" } else { "no" }),
        format!("make_it() {{ {}; }}", on_device(Some(make))),
        format!("options={}", word(options)),
        format!("repair_it() {{ {}; }}", on_device(repair)),
        format!("strict_it() {{ {}{finds}; }}", on_device(strict.as_ref().map(|(line, _)| line))),
    ]
}

/// Returns the programs that a script of this case calls.
fn programs(case: &Reproduction) -> Vec<String> {
    let ShellFileSystem { make, repair, strict, .. } = &case.system;
    let plain =
        "base64 cksum cmp cut dd grep head mktemp mount sed sync tail tr truncate umount wc yes";
    let lines = [
        Some(make),
        repair.as_ref().map(|repair| &repair.0),
        strict.as_ref().map(|strict| &strict.0),
    ];
    let tools = lines.into_iter().flatten().filter_map(|line| line.split_whitespace().next());
    let mut programs: Vec<String> = plain.split(' ').chain(tools).map(str::to_owned).collect();
    let texts = case.demands.iter().filter_map(|demand| match demand {
        crate::verdict::ShellDemand::Command { text, .. } => Some(text),
        _ => None,
    });
    let steps = case.done.iter().filter_map(|done| match &done.what {
        crate::events::LoggedAction::Shell(text) => Some(text),
        _ => None,
    });
    let more = steps::programs(&case.done).chain(demands::programs(&case.demands));
    programs.extend(more.map(str::to_owned));
    let named = texts.chain(steps).flat_map(|text| crate::base::programs(text));
    let is_shown = |name: &String| printable(name).is_none();
    programs
        .extend(named.filter(|program| program.sure).map(|program| program.name).filter(is_shown));
    all(programs, &[])
}

/// Returns the programs of both lists, sorted.
pub(super) fn all(programs: Vec<String>, more: &[&str]) -> Vec<String> {
    let more = more.iter().map(|&program| program.to_owned());
    programs.into_iter().chain(more).sorted_unstable().dedup().collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns the exit code of a strict check by this program. Output with `finds` means an error.
    fn look(program: &str, finds: Option<&str>) -> Option<i32> {
        let system = ShellFileSystem {
            driver: "toy".to_owned(),
            options: String::new(),
            make: "true".to_owned(),
            repair: None,
            strict: Some((program.to_owned(), finds.map(str::to_owned))),
        };
        let work = tempfile::tempdir().unwrap();
        let look = "strict_it > \"$work/said\" 2>&1";
        let text = format!(
            "work={} dev=disk\n{}\n{look}",
            work.path().display(),
            of_system(&system).join("\n")
        );
        Command::new("sh").args(["-c", &text]).status().unwrap().code()
    }

    #[test]
    fn a_look_finds_an_error_by_exit_code_or_by_output() {
        let words = Some("(y/N)?");
        assert_eq!([look("echo clean", None), look("echo clean", words)], [Some(0); 2]);
        assert_eq!([look("false", None), look("false", words)], [Some(1); 2]);
        let question = "echo 'Delete (y/N)? n'";
        assert_eq!([look(question, None), look(question, words)], [Some(0), Some(1)]);
    }
}
