//! Every command on the pages runs, as if a reader pasted it.
//!
//! Each page has one shell in a folder that looks like a clone of the project after a build. The
//! commands of its `sh` and `console` blocks run one after the other. The comment after a command
//! states its result: `finds ...`, `finds nothing`, `exit code 3`. Without such a comment the exit
//! code must be 0. The lines that a `console` block shows must be in the output. A `toml` block
//! whose first line is a comment with a file name is that file.
//!
//! A command that cannot run here is in [`elsewhere`], with the test that runs it or the reason. A
//! command for a guest is only parsed, because some run for minutes; `scripts/long/pages` runs them as
//! well.

mod clone;
mod elsewhere;
mod promised;
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use crate::common::page::{Block, Command, blocks};
use clone::Clone;
use elsewhere::{Elsewhere, Why};

/// The pages whose commands run: files, and folders of pages.
const PAGES: [&str; 6] =
    ["README.md", "docs/start", "docs/guide", "docs/reference", "docs/model", "docs/internals"];

/// The environment variable that lets the commands for guests run, if its value is `guests`.
const VARIABLE: &str = "EXPLODE_PAGES";

/// The result of a command in the shell of its page.
struct Ended {
    code: i32,
    out: String,
}

/// A page and its path.
struct Page {
    path: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<Page> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in PAGES.map(|path| root().join(path)) {
        match fs::read_dir(&path) {
            Ok(entries) => paths.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => paths.push(path),
        }
    }
    paths.sort();
    let name = |path: &Path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    let read = |path: PathBuf| Page { path: name(&path), text: fs::read_to_string(path).unwrap() };
    paths.into_iter().map(read).collect()
}

/// Returns the name of the file that a `toml` block is, from the comment in its first line.
fn named_file<'a>(block: &Block<'a>) -> Option<&'a str> {
    let name = block.lines.first()?.strip_prefix("# ")?;
    (block.language == "toml" && name.ends_with(".toml") && !name.contains(' ')).then_some(name)
}

/// Runs a page's commands. Returns the errors.
fn problems(page: &Page) -> Vec<String> {
    let blocks = blocks(&page.text);
    let clone = Clone::new();
    for block in &blocks {
        if let Some(name) = named_file(block) {
            fs::write(clone.folder().join(name), block.text()).unwrap();
        }
    }
    let commands: Vec<Command> = blocks.iter().flat_map(Block::commands).collect();
    let runs_guests = std::env::var_os(VARIABLE).is_some_and(|value| value == "guests");
    let is_elsewhere = |command: &&Command| match elsewhere::find(&page.path, &command.text) {
        Some(Elsewhere { why: Why::Guest { .. }, .. }) => !runs_guests,
        found => found.is_some(),
    };
    let (elsewhere, here): (Vec<_>, Vec<_>) = commands.iter().partition(is_elsewhere);
    let ended = clone.run(&here.iter().map(|command| command.text.as_str()).collect::<Vec<_>>());
    let mut problems: Vec<String> = Vec::new();
    let at = |command: &Command| format!("{}:{}: {}", page.path, command.line, command.text);
    for (command, ended) in here.into_iter().zip(&ended) {
        if let Err(problem) = promised::check(command, ended, &clone) {
            problems.push(format!("{}\n  {problem}\n{}", at(command), ended.out));
        }
    }
    for command in elsewhere {
        let Some(Elsewhere { why: Why::Guest { .. }, .. }) =
            elsewhere::find(&page.path, &command.text)
        else {
            continue;
        };
        if let Err(problem) = in_a_guest(&clone, command) {
            problems.push(format!("{}\n  {problem}", at(command)));
        }
    }
    problems
}

/// Checks a command for a guest: all its names and options are parsed before a run in process
/// refuses it.
fn in_a_guest(clone: &Clone, command: &Command) -> Result<(), String> {
    let in_process = match command.text.contains("--in ") {
        true => command.text.replace("--in vm", "--in mem").replace("--in here", "--in mem"),
        false => format!("{} --in mem", command.text),
    };
    let ended = clone.run(&[&in_process]).pop().unwrap();
    let is_read = ended.out.contains("needs a kernel");
    let words = || format!("in process it says, with exit code {}: {}", ended.code, ended.out);
    is_read.then_some(()).ok_or_else(words)
}

#[test]
fn every_command_runs_and_does_what_the_page_says() {
    let pages = pages();
    let (left, found) = (Mutex::new(pages.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some(page) = left.lock().unwrap().next() else { return };
            let problems = problems(page);
            found.lock().unwrap().extend(problems);
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// All commands are in blocks that this test reads. Indented text is not in such a block.
#[test]
fn no_command_stands_outside_a_block() {
    for page in pages() {
        let mut in_block = false;
        for (at, line) in page.text.lines().enumerate() {
            in_block ^= line.starts_with("```");
            let line = line.strip_prefix("    ").filter(|_| !in_block).unwrap_or_default();
            let line = line.strip_prefix("$ ").unwrap_or(line);
            let is_command =
                ["explode ", "cargo ", "scripts/"].iter().any(|begin| line.starts_with(begin));
            assert!(!is_command, "{}:{}: mark this as a block of sh", page.path, at + 1);
        }
    }
}

/// The command of each entry is on a page, and its test exists.
#[test]
fn each_command_run_elsewhere_is_on_a_page_and_has_a_test() {
    let pages = pages();
    for entry in elsewhere::ALL {
        let is_used = pages.iter().any(|page| {
            let commands = crate::common::page::commands(&page.text);
            commands.iter().any(|command| {
                elsewhere::find(&page.path, &command.text)
                    .is_some_and(|found| std::ptr::eq(found, entry))
            })
        });
        assert!(is_used, "no page has a command of this entry: {entry:?}");
        if let Why::Guest { test, case } | Why::Test { test, case } = entry.why {
            let text = fs::read_to_string(root().join(test)).unwrap();
            assert!(text.contains(case), "{test} does not have '{case}'");
        }
    }
}
