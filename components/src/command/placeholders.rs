//! Placeholders of commands: `{child}`, `{dev}`, `{path}`, `{n}`. Other words in braces are left
//! for the shell.

use explode_runtime::base::{Blame, StepError, UsageError};
use explode_runtime::stack::LayerPaths;

/// The owner of a command, which decides the placeholders that it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOwner {
    /// A component with this number of children.
    Component(usize),
    /// A step of a checker's mutate.
    Step,
    /// An argument of a crash check.
    Argument,
    /// A checker's `check` or `sig`.
    Check,
}

impl CommandOwner {
    fn known(self) -> &'static [&'static str] {
        match self {
            CommandOwner::Component(_) => &["child", "dev", "path"],
            CommandOwner::Step => &["path", "dev", "n"],
            CommandOwner::Argument => &["n"],
            CommandOwner::Check => &["path", "dev"],
        }
    }
}

/// The names of all placeholders.
const NAMES: [&str; 4] = ["child", "dev", "path", "n"];

/// Checks that all placeholders of a command can be filled in.
///
/// # Errors
/// A placeholder that this command may not use, a child that does not exist, or a word that
/// resembles a placeholder.
pub fn check(text: &str, context: CommandOwner) -> Result<(), UsageError> {
    for part in parts(text) {
        let Part::Braces(inner) = part else { continue };
        let (name, number) = split(inner);
        let known = context.known();
        if known.contains(&name) {
            match (context, number) {
                (_, None) => {}
                (CommandOwner::Component(children), Some(number))
                    if name != "path" && (1..=children).contains(&number) => {}
                (CommandOwner::Component(children), Some(_)) if name != "path" => {
                    return Err(UsageError(format!(
                        "{{{inner}}}: there are {children} children, the first is 1"
                    )));
                }
                _ => {
                    return Err(UsageError(format!("{{{inner}}} has no number; write {{{name}}}")));
                }
            }
        } else if NAMES.contains(&name) {
            let known: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
            return Err(UsageError(format!(
                "{{{inner}}} has no meaning here; use: {}",
                known.join(", ")
            )));
        } else if let Some(near) =
            known.iter().find(|near| strsim::damerau_levenshtein(near, name) <= name.len() / 3)
        {
            return Err(UsageError(format!("unknown {{{inner}}}; did you mean {{{near}}}?")));
        }
    }
    Ok(())
}

/// Fills in the paths of the children. `path` is the layer's own path.
pub(super) fn fill_component(
    text: &str,
    children: &[LayerPaths],
    own: &LayerPaths,
) -> Result<String, StepError> {
    fill(text, |name, number| {
        let child = children.get(number.unwrap_or(1).wrapping_sub(1));
        match name {
            "child" => Some(child.and_then(|child| child.path.clone())),
            "dev" => Some(child.and_then(|child| child.device.clone())),
            "path" => Some(own.path.clone()),
            _ => None,
        }
        .map(|path| path.map(|path| path.display().to_string()))
    })
}

/// Fills in the paths of the top component and the number of the mutate.
pub fn fill_checker(text: &str, top: &LayerPaths, n: u32) -> Result<String, StepError> {
    fill(text, |name, _| match name {
        "path" => Some(top.path.as_ref().map(|path| path.display().to_string())),
        "dev" => Some(top.device.as_ref().map(|path| path.display().to_string())),
        "n" => Some(Some(n.to_string())),
        _ => None,
    })
}

/// Replaces the placeholders in `text`. `lookup` returns the value of a name and its number. `None`
/// leaves the braces as they are. `Some(None)` is an error.
fn fill(
    text: &str,
    lookup: impl Fn(&str, Option<usize>) -> Option<Option<String>>,
) -> Result<String, StepError> {
    let mut filled = String::new();
    for part in parts(text) {
        match part {
            Part::Plain(text) => filled.push_str(text),
            Part::Braces(inner) => {
                let (name, number) = split(inner);
                match lookup(name, number) {
                    None => filled.push_str(&format!("{{{inner}}}")),
                    Some(Some(value)) => filled.push_str(&value),
                    Some(None) => {
                        let text = format!("`{text}`: no layer below has a {{{inner}}}");
                        return Err(StepError::new(text).blame(Blame::Tool));
                    }
                }
            }
        }
    }
    Ok(filled)
}

fn split(inner: &str) -> (&str, Option<usize>) {
    match inner.split_once('.') {
        Some((name, number)) => (name, number.parse().ok()),
        None => (inner, None),
    }
}

enum Part<'a> {
    Plain(&'a str),
    /// A word in braces that does not follow a `$`, as a variable of the shell does.
    Braces(&'a str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut plain, mut from) = (0, 0);
    while let Some(open) = text[from..].find('{').map(|at| from + at) {
        from = open + 1;
        let Some(close) = text[from..].find('}').map(|at| from + at) else { break };
        let inner = &text[from..close];
        let (name, number) = inner.split_once('.').unwrap_or((inner, "1"));
        let word = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit());
        if word && !text[..open].ends_with('$') {
            parts.push(Part::Plain(&text[plain..open]));
            parts.push(Part::Braces(inner));
            (plain, from) = (close + 1, close + 1);
        }
    }
    parts.push(Part::Plain(&text[plain..]));
    parts
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn paths(path: &str, device: &str) -> LayerPaths {
        let some = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
        LayerPaths { path: some(path), device: some(device) }
    }

    #[test]
    fn known_placeholders_are_filled_in_and_other_braces_stay() {
        let children = [paths("/a", "/dev/a"), paths("/b", "/dev/b")];
        let filled = |text: &str| fill_component(text, &children, &paths("/own", "")).unwrap();
        assert_eq!(
            filled("x {child}/db {child.2} {dev} {dev.2} {path}"),
            "x /a/db /b /dev/a /dev/b /own"
        );
        for shell in
            ["${path}", "{ a; }", "find -exec rm {} \\;", "awk '{print $1}'", "{a,b}", "${n}{"]
        {
            assert_eq!(filled(shell), shell);
        }
        assert_eq!(
            fill_checker("add {path}/db k{n}", &paths("/top", ""), 3).unwrap(),
            "add /top/db k3"
        );
        let fault = fill_checker("dd of={dev}", &paths("/top", ""), 3).unwrap_err();
        assert!(fault.to_string().contains("no layer below has a {dev}"), "{fault}");
        assert_eq!(fault.blame, Blame::Tool);
    }

    #[test]
    fn unknown_placeholders_are_refused() {
        let refused =
            |text: &str, context: CommandOwner| check(text, context).unwrap_err().to_string();
        assert!(refused("{chld}", CommandOwner::Component(1)).contains("did you mean {child}?"));
        assert!(refused("{child.3}", CommandOwner::Component(2)).contains("there are 2 children"));
        assert!(refused("{child.0}", CommandOwner::Component(2)).contains("the first is 1"));
        assert!(refused("{path.2}", CommandOwner::Component(2)).contains("write {path}"));
        assert!(refused("{child}", CommandOwner::Step).contains("use: {path}, {dev}, {n}"));
        assert!(refused("{n}", CommandOwner::Check).contains("has no meaning here"));
        assert!(refused("{path}", CommandOwner::Argument).contains("use: {n}"));
        for fine in ["{child.2} {dev.1} {path}", "awk '{print}'", "${n}", "{x}"] {
            assert_eq!(check(fine, CommandOwner::Component(2)), Ok(()));
        }
    }
}
