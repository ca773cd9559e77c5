//! The demands of a check as shell tests: functions that compare contents, and lines that make the
//! tests.

use super::embedded::EmbeddedData;
use super::words::{hexadecimal, runnable, word};
use crate::verdict::{FileContents, ShellDemand};

/// Returns the functions and the lines that make the tests.
pub(super) fn lines(
    demands: &[ShellDemand],
    data: &mut EmbeddedData,
) -> (Vec<String>, Vec<String>) {
    let mut functions = Vec::new();
    let commands = demands.iter().map(|demand| test(demand, data, &mut functions)).collect();
    (functions, commands)
}

/// Returns the command that tests a demand. Adds the functions that it calls.
fn test(demand: &ShellDemand, data: &mut EmbeddedData, functions: &mut Vec<String>) -> String {
    match demand {
        ShellDemand::Directory(path) => format!("demand_directory {}", word(path)),
        ShellDemand::Nothing(path) => format!("demand_nothing {}", word(path)),
        ShellDemand::File(path, any) => {
            format!("demand_file {} {}", word(path), contents(any, data, functions))
        }
        ShellDemand::Perhaps(path, any) => {
            format!("demand_perhaps {} {}", word(path), contents(any, data, functions))
        }
        ShellDemand::Symlink(path, target) => {
            format!("demand_symlink {} {}", word(path), word(target))
        }
        ShellDemand::Mode(path, mode) => format!("demand_mode {} {mode:o}", word(path)),
        ShellDemand::Xattrs(path, attributes) => {
            let each = attributes.iter().map(|(name, value)| {
                format!(" {}", word(&format!("{name}={}", hexadecimal(value))))
            });
            format!("demand_xattrs {}{}", word(path), each.collect::<String>())
        }
        ShellDemand::Readable { attributes: false } => "demand_readable".to_owned(),
        ShellDemand::Readable { attributes: true } => "demand_readable attributes".to_owned(),
        ShellDemand::Any(demands) => {
            let tests: Vec<String> =
                demands.iter().map(|demand| word(&test(demand, data, functions))).collect();
            format!("demand_any {}", tests.join(" "))
        }
        ShellDemand::Command { text, environment, done } => {
            functions.extend(command(text, environment, done, data));
            "demand_command check_command".to_owned()
        }
    }
}

/// Returns the programs that these tests call and that some scripts do not need.
pub(super) fn programs(demands: &[ShellDemand]) -> impl Iterator<Item = &'static str> {
    demands.iter().flat_map(programs_of)
}

fn programs_of(demand: &ShellDemand) -> Vec<&'static str> {
    match demand {
        ShellDemand::Symlink(..) => vec!["readlink"],
        ShellDemand::Mode(..) => vec!["stat"],
        ShellDemand::Xattrs(..) => vec!["getfattr", "sort"],
        ShellDemand::Readable { attributes: false } => vec!["find"],
        ShellDemand::Readable { attributes: true } => vec!["find", "getfattr"],
        ShellDemand::Any(demands) => demands.iter().flat_map(programs_of).collect(),
        _ => Vec::new(),
    }
}

/// Adds a function for each of these contents. Returns their names.
fn contents(any: &[FileContents], data: &mut EmbeddedData, functions: &mut Vec<String>) -> String {
    let mut names = Vec::new();
    for FileContents { least, most, parts } in any {
        let name = format!(
            "contents{}",
            functions.iter().filter(|line| line.starts_with("contents")).count() + 1
        );
        let most = most.map_or_else(|| "-".to_owned(), |most| most.to_string());
        functions.push(format!("{name}() {{"));
        let parts = parts.iter().filter(|(_, bytes)| !bytes.is_empty());
        let tests =
            parts.map(|(at, bytes)| format!("bytes_at \"$1\" {at} \"$work/{}\"", data.name(bytes)));
        let tests: Vec<String> =
            [format!("size_of \"$1\" {least} {most}")].into_iter().chain(tests).collect();
        functions.push(format!("    {}", tests.join(" &&\n        ")));
        functions.push("}".to_owned());
        names.push(name);
    }
    names.join(" ")
}

fn command(
    text: &str,
    environment: &[(String, String)],
    done: &str,
    data: &mut EmbeddedData,
) -> Vec<String> {
    let mut lines = vec!["check_command() (".to_owned()];
    lines.extend(
        environment.iter().map(|(name, value)| format!("    export {name}={}", word(value))),
    );
    lines.push(format!("    export EXPLODE_DONE=\"$work/{}\"", data.name(done.as_bytes())));
    lines.push(format!("    {}", runnable(text)));
    lines.push(")".to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns the output of the tests in a folder with these files.
    fn tested(files: &[(&str, &str)], demands: &[ShellDemand]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let mut data = EmbeddedData::default();
        let (functions, commands) = lines(demands, &mut data);
        let script = [
            "mnt=. work=. broken=no".to_owned(),
            "kept() { echo \"kept: $*\"; }".to_owned(),
            "lost() { echo \"LOST: $*\"; broken=yes; }".to_owned(),
            include_str!("library.sh").to_owned(),
            data.lines().join("\n"),
            functions.join("\n"),
            commands.join("\n"),
            "echo \"$broken\"".to_owned(),
        ];
        let mut shell = Command::new("sh");
        let ran = shell.current_dir(folder.path()).args(["-c", &script.join("\n")]).output();
        let ran = ran.unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
        String::from_utf8(ran.stdout).unwrap()
    }

    #[test]
    fn one_of_several_demands_is_enough() {
        let file = |path: &str| {
            ShellDemand::File(
                path.to_owned(),
                vec![FileContents { least: 2, most: Some(2), parts: vec![] }],
            )
        };
        let somewhere = ShellDemand::Any(vec![file("/it's"), file("/b")]);
        let nothing = |path: &str| ShellDemand::Nothing(path.to_owned());
        let once = ShellDemand::Any(vec![nothing("/it's"), nothing("/b")]);
        let demands = [somewhere, once];
        assert_eq!(
            tested(&[("b", "bb")], &demands),
            "kept: /b holds what it should\nkept: /it's is not there\nno\n"
        );
        assert_eq!(
            tested(&[("b", "b")], &demands),
            "LOST: /it's is gone; /b has 1 bytes, not 2\nkept: /it's is not there\nyes\n"
        );
        assert_eq!(
            tested(&[("it's", "bb"), ("b", "bb")], &demands),
            "kept: /it's holds what it should\nLOST: /it's is there, and was taken away for good; \
             /b is there, and was taken away for good\nyes\n"
        );
    }
}
