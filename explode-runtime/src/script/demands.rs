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
    let mut commands = Vec::new();
    for demand in demands {
        match demand {
            ShellDemand::Directory(path) => {
                commands.push(format!("demand_directory {}", word(path)))
            }
            ShellDemand::Nothing(path) => commands.push(format!("demand_nothing {}", word(path))),
            ShellDemand::File(path, any) => {
                commands.push(format!(
                    "demand_file {} {}",
                    word(path),
                    contents(any, data, &mut functions)
                ));
            }
            ShellDemand::Perhaps(path, any) => {
                commands.push(format!(
                    "demand_perhaps {} {}",
                    word(path),
                    contents(any, data, &mut functions)
                ));
            }
            ShellDemand::Symlink(path, target) => {
                commands.push(format!("demand_symlink {} {}", word(path), word(target)));
            }
            ShellDemand::Mode(path, mode) => {
                commands.push(format!("demand_mode {} {mode:o}", word(path)))
            }
            ShellDemand::Xattrs(path, attributes) => {
                let each = attributes.iter().map(|(name, value)| {
                    format!(" {}", word(&format!("{name}={}", hexadecimal(value))))
                });
                commands.push(format!("demand_xattrs {}{}", word(path), each.collect::<String>()));
            }
            ShellDemand::Command { text, environment, done } => {
                functions.extend(command(text, environment, done, data));
                commands.push("demand_command check_command".to_owned());
            }
        }
    }
    (functions, commands)
}

/// Returns the programs that these tests call and that some scripts do not need.
pub(super) fn programs(demands: &[ShellDemand]) -> impl Iterator<Item = &'static str> {
    let of = |demand: &ShellDemand| match demand {
        ShellDemand::Symlink(..) => vec!["readlink"],
        ShellDemand::Mode(..) => vec!["stat"],
        ShellDemand::Xattrs(..) => vec!["getfattr", "sort"],
        _ => Vec::new(),
    };
    demands.iter().flat_map(of)
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
