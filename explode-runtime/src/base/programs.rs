//! Finds the programs that a shell command starts: the first word of each simple command in its
//! text.
//!
//! This is not a shell. A construct that it cannot follow (patterns of `case`, here-documents)
//! makes every word of that command unsure. Words that contain quotes, variables or placeholders
//! are omitted.

use std::collections::BTreeSet;

use crate::base::{OptionValue, Options};

/// A program that a command names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedProgram {
    /// The name of the program, or a path.
    pub name: String,
    /// True if the word is certainly a program.
    pub sure: bool,
}

/// Words that are not programs: builtins and keywords of the shell, and `explode-mark`, explode's
/// own tool.
const BUILTINS: &str = "alias bg break cd chdir continue echo eval exit export false fg getopts \
                        hash jobs kill local printf pwd \
    read readonly return set shift test times trap true type ulimit umask unalias unset wait . : \
    [ for in explode-mark";
/// Words that are followed by a command.
const BEFORE: &str = "! { if then else elif do while until time exec command eval env nohup nice";
/// Words that end a construct.
const AFTER: &str = "} fi done esac";

/// Returns the programs of one command line.
pub fn of_text(text: &str) -> Vec<NamedProgram> {
    let mut words = Words::default();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                letters.by_ref().find(|letter| *letter == '\'');
                words.opaque();
            }
            '\\' => {
                letters.next();
                words.opaque();
            }
            '"' => {
                words.quoted = !words.quoted;
                words.opaque();
            }
            '$' if letters.peek() == Some(&'(') => {
                letters.next();
                if letters.peek() == Some(&'(') {
                    // This is arithmetic, up to its two closing brackets.
                    letters.by_ref().find(|letter| *letter == ')');
                    words.opaque();
                } else {
                    words.open();
                }
            }
            '`' if words.quoted => words.opaque(),
            ')' if words.depth > 0 => words.close(),
            _ if words.quoted => {}
            '#' if words.word.is_none() => {
                letters.by_ref().find(|letter| *letter == '\n');
                words.next_command();
            }
            '<' | '>' => {
                if letters.next_if(|letter| matches!(letter, '&' | '>' | '<')) == Some('<') {
                    words.unsure = true;
                }
                words.redirect();
            }
            '(' => words.function_or_subshell(),
            ';' | '&' | '|' | '\n' | '`' => words.next_command(),
            // A command follows a pattern of `case`.
            ')' if words.unsure => words.next_command(),
            ')' => words.end(),
            letter if letter.is_whitespace() => words.end(),
            letter => words.push(letter),
        }
    }
    words.finish()
}

/// Returns the programs of all commands in the options of a component or checker that is made of
/// commands.
pub fn of_options(options: &Options) -> Vec<NamedProgram> {
    let mut found = BTreeSet::new();
    for (key, value) in options.iter() {
        each_text(key, value, &mut |text| found.extend(of_text(text)));
    }
    found.into_iter().collect()
}

/// Visits every text that is a command. The texts of `start`, `end`, `crash`, `recover_ok`,
/// `provides` and `name` are not commands.
fn each_text(key: &str, value: &OptionValue, visit: &mut impl FnMut(&str)) {
    match value {
        OptionValue::Text(text) if !["name", "provides"].contains(&key) => visit(text),
        OptionValue::List(values) if !["start", "end", "crash", "recover_ok"].contains(&key) => {
            values.iter().for_each(|value| each_text(key, value, visit));
        }
        OptionValue::Table(values) => {
            values.iter().for_each(|(key, value)| each_text(key, value, visit))
        }
        _ => {}
    }
}

struct Words {
    /// The word that is being read. `None` between words.
    word: Option<String>,
    /// True if the word contains something that this reader cannot follow.
    is_opaque: bool,
    /// True if the next word is a command.
    at_command: bool,
    /// True if the next word is the file of a redirection.
    at_file: bool,
    quoted: bool,
    /// The open substitutions. Each entry is true if the substitution is in double quotes.
    outer: Vec<bool>,
    depth: usize,
    unsure: bool,
    found: Vec<String>,
    functions: Vec<String>,
}

impl Default for Words {
    fn default() -> Words {
        Words {
            word: None,
            is_opaque: false,
            at_command: true,
            at_file: false,
            quoted: false,
            outer: Vec::new(),
            depth: 0,
            unsure: false,
            found: Vec::new(),
            functions: Vec::new(),
        }
    }
}

impl Words {
    fn push(&mut self, letter: char) {
        self.is_opaque |= matches!(letter, '$' | '{' | '}' | '*' | '?' | '~')
            && self.word.is_some()
            || letter == '$';
        self.word.get_or_insert_default().push(letter);
    }

    fn opaque(&mut self) {
        self.word.get_or_insert_default();
        self.is_opaque = true;
    }

    /// Starts a substitution, which is a separate command.
    fn open(&mut self) {
        self.opaque();
        self.end();
        self.outer.push(self.quoted);
        self.depth += 1;
        (self.quoted, self.at_command) = (false, true);
    }

    fn close(&mut self) {
        self.end();
        self.quoted = self.outer.pop().unwrap_or_default();
        self.depth -= 1;
        self.at_command = false;
        if self.quoted {
            self.opaque();
        }
    }

    fn redirect(&mut self) {
        // A number before a redirection is a descriptor.
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end();
        self.at_file = true;
    }

    fn function_or_subshell(&mut self) {
        if let Some(name) = self.word.take() {
            self.functions.push(name);
            self.at_command = true;
        } else {
            self.next_command();
        }
    }

    fn next_command(&mut self) {
        self.end();
        (self.at_command, self.at_file) = (true, false);
    }

    /// Ends the word that is being read.
    fn end(&mut self) {
        let Some(word) = self.word.take() else { return };
        let is_opaque = std::mem::take(&mut self.is_opaque);
        if std::mem::take(&mut self.at_file) || !self.at_command {
            return;
        }
        let is = |list: &str| list.split_whitespace().any(|known| known == word);
        let assigns = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        // These are options of the words before, and the numbers that they take.
        let option = word.starts_with('-')
            || (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()));
        if assigns || option || is(BEFORE) || is(AFTER) {
            return;
        }
        self.at_command = false;
        self.unsure |= word == "case";
        if !is_opaque && word != "case" && !is(BUILTINS) {
            self.found.push(word);
        }
    }

    fn finish(mut self) -> Vec<NamedProgram> {
        self.end();
        let Words { found, functions, unsure, .. } = self;
        let sure = !unsure;
        let ours = found.into_iter().filter(|name| !functions.contains(name));
        ours.map(|name| NamedProgram { name, sure }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::of_text;

    fn names(text: &str) -> Vec<String> {
        of_text(text).into_iter().map(|program| program.name).collect()
    }

    #[test]
    fn the_first_word_of_each_command_is_a_program() {
        for (text, expected) in [
            ("notes add {child}/db k1", "notes"),
            ("LC_ALL=C sort -u a > b && sync; mv a b | tee c & d", "sort sync mv tee d"),
            ("if grep -q x f; then rm f; else ./tool; fi", "grep rm ./tool"),
            ("for x in a b; do mkdir \"$x\"; done", "mkdir"),
            ("test -f a || [ -d b ] || exit 1", ""),
            ("2>/dev/null cat <f >&2", "cat"),
            ("echo \"$(wc -l <f) lines; not a command\" # comment; rm", "wc"),
            ("n=$(cat f | wc -l); echo $((n + 1))", "cat wc"),
            ("( cd x && tar cf - . )", "tar"),
            ("put() { dd of=\"$1\"; }; put x", "dd"),
            ("'quoted program' a; \"$tool\" b; {child}/bin/tool c; exec notes", "notes"),
            ("command -v tool; nice -n 5 other", "tool other"),
        ] {
            assert_eq!(names(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn programs_in_unparsed_shell_constructs_are_not_sure() {
        assert!(of_text("notes x").iter().all(|program| program.sure));
        for text in ["case $x in a) notes;; esac", "cat <<end\nnotes\nend"] {
            let programs = of_text(text);
            assert!(
                !programs.is_empty() && programs.iter().all(|program| !program.sure),
                "{programs:?}"
            );
        }
    }
}
