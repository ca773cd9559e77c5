//! The rooms of a crate: the list in the head of its main file, and the uses that run upwards.

use std::collections::{BTreeMap, BTreeSet};

use crate::uses::Use;
use crate::workspace::{Crate, Files, Workspace};

/// The line under which a main file lists its rooms.
const TITLE: &str = "# Rooms, bottom first";

/// The most lines of production code of a room, on average.
const MOST_LINES: usize = 2500;

/// The declarations in the head of a main file.
#[derive(Debug, Default)]
pub struct Head<'f> {
    /// The rooms, bottom first. `None` without a list.
    pub rooms: Option<Vec<&'f str>>,
    /// By the name of another crate in code: its rooms that may be used.
    pub others: BTreeMap<&'f str, BTreeSet<String>>,
}

/// Reads the head of a main file.
pub fn head(text: &str) -> Head<'_> {
    let mut head = Head::default();
    let lines = text.lines().take_while(|line| line.starts_with("//"));
    let mut lines = lines.filter_map(|line| line.strip_prefix("//!")).map(str::trim).peekable();
    while let Some(line) = lines.next() {
        if line == TITLE {
            while lines.next_if(|line| !line.starts_with("- ")).is_some() {}
            let entries = std::iter::from_fn(|| lines.next_if(|line| !line.is_empty()));
            head.rooms = Some(entries.filter_map(listed_room).collect());
        } else if let Some((name, rest)) = other_crate(line) {
            let mut sentence = rest.to_owned();
            while !sentence.ends_with('.')
                && let Some(line) = lines.next_if(|line| !line.is_empty())
            {
                sentence.push_str(line);
            }
            let rooms = sentence.split('`').skip(1).step_by(2);
            head.others.insert(name, rooms.map(str::to_owned).collect());
        }
    }
    head
}

/// Reads an entry of the list: ``- [`name`]: what it is``.
fn listed_room(line: &str) -> Option<&str> {
    let (name, about) = line.strip_prefix("- ")?.split_once(": ")?;
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.strip_prefix('`')?.strip_suffix('`')?;
    (!about.is_empty()).then_some(name)
}

/// Reads the beginning of ``Of `explode_runtime` it uses `base`, `choose`.``. Returns the name and
/// the rest.
fn other_crate(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix("Of `")?.split_once('`')?;
    Some((name, rest.strip_prefix(" it uses ")?))
}

/// Returns the problems of the lists of rooms.
pub fn list_problems(files: &Files, workspace: &Workspace<'_>) -> Vec<String> {
    workspace.crates.iter().flat_map(|of| crate_problems(files, workspace, of)).collect()
}

fn crate_problems(files: &Files, workspace: &Workspace<'_>, of: &Crate) -> Vec<String> {
    let main = &of.main;
    let head = head(files.get(main).map_or("", String::as_str));
    let Some(listed) = head.rooms else {
        return vec![format!("{main}:1: no list of rooms: write one under the line `//! {TITLE}`")];
    };
    let mut problems = Vec::new();
    let children = &workspace.modules[of.root].children;
    for (name, child) in children {
        let line = workspace.modules[*child].line;
        match listed.iter().filter(|room| *room == name).count() {
            0 => problems
                .push(format!("{main}:{line}: room {name} is not in the list of rooms: add it")),
            1 => {}
            _ => problems
                .push(format!("{main}:{line}: room {name} is listed twice: delete one line")),
        }
    }
    let unknown = listed.iter().filter(|room| !children.contains_key(**room));
    problems
        .extend(unknown.map(|room| format!("{main}:1: there is no room {room}: delete its line")));
    if listed.len() * MOST_LINES < of.lines {
        problems.push(format!(
            "{main}:1: {} lines of code in {} rooms: split a room, one for each {MOST_LINES} lines",
            of.lines,
            listed.len()
        ));
    }
    problems
}

/// Returns the uses that run upwards, by `crate: file -> room`, each with a message. They include
/// uses of another crate's rooms that the head does not name.
pub fn upward_uses(
    files: &Files,
    workspace: &Workspace<'_>,
    uses: &[Use<'_>],
) -> BTreeMap<String, String> {
    let text = |of: &Crate| files.get(&of.main).map_or("", String::as_str);
    let heads: Vec<_> = workspace.crates.iter().map(|of| head(text(of))).collect();
    let mut found = BTreeMap::new();
    for a_use in uses {
        let module = &workspace.modules[a_use.from];
        let of = &workspace.crates[module.of];
        for target in &a_use.modules {
            if let Some((room, reason)) = refused(workspace, &heads[module.of], a_use.from, *target)
            {
                let key = format!("{}: {} -> {room}", of.name, of.shown(&module.file));
                let message = format!("{}:{}: {}: {reason}", module.file, a_use.line, a_use.text);
                found.entry(key).or_insert(message);
            }
        }
    }
    found
}

/// Returns the room of a target and the reason why it must not be used. `None` if it may.
fn refused(
    workspace: &Workspace<'_>,
    head: &Head<'_>,
    from: usize,
    target: usize,
) -> Option<(String, String)> {
    let (own, room) = (workspace.room(from), workspace.room(target));
    let (of, other) = (workspace.modules[from].of, workspace.modules[target].of);
    if of == other {
        let own = own?;
        if room == Some(own) || is_below(head, room, own) {
            return None;
        }
        let room = room.unwrap_or("the root").to_owned();
        let reason = format!("{own} stands below {room}: move what it names down, or this code up");
        return Some((room, reason));
    }
    let (name, room) = (workspace.crates[other].in_code(), room?);
    let allowed = head.others.get(name.as_str())?;
    if allowed.contains(room) {
        return None;
    }
    let room = format!("{name}::{room}");
    let reason = format!("{room} is none of the rooms that {} names", workspace.crates[of].main);
    Some((room, reason))
}

/// Returns true if a room is listed before another one. Another message reports a room that is not
/// listed.
fn is_below(head: &Head<'_>, room: Option<&str>, other: &str) -> bool {
    let listed = head.rooms.as_deref().unwrap_or_default();
    let place = |name: &str| listed.iter().position(|room| *room == name);
    match (room.map(place), place(other)) {
        (Some(Some(room)), Some(other)) => room < other,
        (room, _) => room.is_some(),
    }
}
