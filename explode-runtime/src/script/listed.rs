//! The list at the head of a script of everything that it runs as root. A person reads it before
//! running the script.

use super::reproduction::Reproduction;
use super::steps::comment_line;
use crate::events::LoggedAction;
use crate::verdict::ShellDemand;

impl Reproduction {
    /// Returns the list as comments.
    pub(super) fn listed(&self) -> Vec<String> {
        let system = &self.system;
        let options = if system.options.is_empty() {
            String::new()
        } else {
            format!(" -o {}", system.options)
        };
        let mut own = vec![
            format!("{} DEVICE", system.make.trim()),
            format!("mount -t {}{options} DEVICE FOLDER; umount FOLDER", system.driver),
        ];
        let looks = system
            .repair
            .iter()
            .map(|(line, _)| line)
            .chain(system.strict.iter().map(|(line, _)| line));
        own.extend(looks.map(|line| format!("{} DEVICE", line.trim())));
        let mut lines = vec![
            "# This file runs the following as root. Its own functions, below, call plain programs."
                .to_owned(),
        ];
        lines.extend(own.iter().map(|line| comment_line(&format!("  {line}"))));
        lines.extend(
            self.carried().iter().map(|text| comment_line(&format!("  of the trace: {text}"))),
        );
        lines
    }

    /// Returns the commands of the trace that the script contains, each once.
    fn carried(&self) -> Vec<&str> {
        let steps = self.done.iter().filter(|done| done.error.is_none()).filter_map(|done| {
            match &done.what {
                LoggedAction::Shell(text) => Some(text.as_str()),
                _ => None,
            }
        });
        let checks = self.demands.iter().filter_map(|demand| match demand {
            ShellDemand::Command { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let mut commands: Vec<&str> = Vec::new();
        for text in steps.chain(checks) {
            if !commands.contains(&text) {
                commands.push(text);
            }
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::LoggedCall;
    use crate::script::words::runnable;
    use crate::stack::ShellFileSystem;
    use crate::trace::Trace;
    use crate::verdict::{Verdict, Violation};
    use crate::worker::DiskContents;

    const EVIL: &str = "touch $mnt/a\nrm -rf $mnt\r\x1b]0;evil\x07";

    fn case() -> Reproduction {
        let trace = include_bytes!("../../../bugs/sync-without-flush/trace.json");
        let step = |text: &str, error: Option<&str>| LoggedCall {
            what: LoggedAction::Shell(text.to_owned()),
            error: error.map(str::to_owned),
        };
        let system = ShellFileSystem {
            driver: "ext2".to_owned(),
            options: "sync".to_owned(),
            make: "mkfs.ext2 -q ".to_owned(),
            repair: Some(("e2fsck -f -y".to_owned(), vec![1])),
            strict: None,
        };
        let check = ShellDemand::Command {
            text: "test -e $mnt/a\nid".to_owned(),
            environment: vec![("EXPLODE_ARGS".to_owned(), "a'b\x1b".to_owned())],
            done: String::new(),
        };
        Reproduction {
            trace: Trace::from_json(trace).unwrap(),
            violation: Violation::new(
                Verdict::CheckFailed,
                "check",
                "gone\n\x1b]0;evil\x07".to_owned(),
            ),
            promise: None,
            choices: Vec::new(),
            moments: Vec::new(),
            done: vec![
                step(EVIL, None),
                step("sync", None),
                step(EVIL, None),
                step("not run", Some("why")),
            ],
            bytes: 1 << 20,
            system,
            demands: vec![check],
            disks: DiskContents { pristine: Vec::new(), crash: Vec::new(), other: None },
            unflushed: false,
            submitted: false,
        }
    }

    #[test]
    fn a_script_begins_with_what_it_runs_as_root() {
        let list = [
            "# This file runs the following as root. Its own functions, below, call plain \
             programs.",
            "#   mkfs.ext2 -q DEVICE",
            "#   mount -t ext2 -o sync DEVICE FOLDER; umount FOLDER",
            "#   e2fsck -f -y DEVICE",
            "#   of the trace: touch $mnt/a\\nrm -rf $mnt\\u000d\\u001b]0;evil\\u0007",
            "#   of the trace: sync",
            "#   of the trace: test -e $mnt/a\\nid",
            "#",
        ];
        let (script, test) = (case().shell("trace\n.json"), case().xfstest("trace.json", "trace"));
        let lines: Vec<&str> = script.lines().collect();
        assert_eq!((lines[0], &lines[1..=list.len()]), ("#!/bin/sh", &list[..]));
        assert!(test.script.contains(&format!("\n{}\n", list.join("\n"))), "{}", test.script);
        // All lines before the first command are comments, regardless of the message, the path and
        // the commands.
        let comments = lines.iter().take_while(|line| line.starts_with('#')).count();
        assert_eq!((lines[comments], lines[comments + 1]), ("", "set -u"));
    }

    #[test]
    fn a_script_has_no_control_characters_and_runs_the_same_command() {
        let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
        let (script, test) = (case().shell("trace.json"), case().xfstest("trace.json", "trace"));
        assert!(!script.contains(obeyed) && !test.script.contains(obeyed));
        let command = runnable("printf '%s' \"$a\r\x1b\\\\\"\nprintf b");
        assert!(!command.contains(obeyed), "{command}");
        let ran = std::process::Command::new("sh")
            .args(["-c", &format!("a=1; {command}")])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(ran.stdout).unwrap(), "1\r\x1b\\b");
        assert_eq!(runnable("sync -f \"$mnt\""), "sync -f \"$mnt\"");
    }
}
