//! The lines of a build's output that contain the reason of a failure.
//!
//! A build that uses several processors continues for a while after the first error, so the end of
//! its output rarely contains it.

use std::collections::VecDeque;

/// The largest number of kept lines, without the lines around an error.
const MOST_LINES: usize = 24;

/// The largest number of kept lines of make itself (`***`). Each level of a kernel's build repeats
/// the error of the one below.
const MOST_OF_MAKE: usize = 2;

/// The number of lines kept before an error. A compiler names the function there, and a shell the
/// command that it could not run.
const BEFORE: usize = 1;

/// The largest number of lines kept after an error: the place in the source, quoted.
const AFTER: usize = 6;

/// The number of last lines kept for a command that has printed no error.
const TAIL_LINES: usize = 30;

/// Receives a command's output line by line, and keeps the errors with the lines around them.
#[derive(Default)]
pub(crate) struct Complaints {
    kept: Vec<String>,
    /// The number of errors that did not fit.
    left_out: usize,
    of_make: usize,
    /// The number of next lines that may still belong to the last error.
    after: usize,
    /// The last lines.
    tail: VecDeque<String>,
    /// The number of lines at the end of `tail` that are not in `kept`.
    fresh: usize,
}

/// The kind of a line of output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A compiler, the linker or modpost reports an error.
    Error,
    /// Make gives up a target.
    Make,
    /// The line belongs to the line before: a quoted source, or the place of the error.
    Detail,
    Other,
}

impl Complaints {
    /// Receives the next line.
    pub(crate) fn line(&mut self, line: &str) {
        let line = line.trim_end();
        let kind = kind(line);
        let wanted = match kind {
            Kind::Error => true,
            Kind::Make => {
                self.of_make += 1;
                self.of_make <= MOST_OF_MAKE
            }
            Kind::Detail => self.after > 0,
            Kind::Other => false,
        };
        let full = self.kept.len() >= MOST_LINES;
        if wanted && !full {
            if kind != Kind::Detail {
                let before = self.fresh.min(BEFORE);
                self.kept.extend(self.tail.iter().skip(self.tail.len() - before).cloned());
            }
            self.kept.push(line.to_owned());
        }
        self.left_out += usize::from(kind == Kind::Error && full);
        self.after = match kind {
            Kind::Error => AFTER,
            Kind::Detail => self.after.saturating_sub(1),
            Kind::Make | Kind::Other => 0,
        };
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line.to_owned());
        self.fresh = if wanted { 0 } else { (self.fresh + 1).min(self.tail.len()) };
    }

    /// Returns the errors, or the last lines if there are no errors, and a heading that says which
    /// of the two.
    pub(crate) fn into_lines(self) -> (&'static str, String) {
        if self.kept.is_empty() {
            return ("the last it printed", Vec::from(self.tail).join("\n"));
        }
        let mut text = self.kept.join("\n");
        if self.left_out > 0 {
            text += &format!("\n... and {} more errors", self.left_out);
        }
        ("its errors", text)
    }

    /// Returns true if one of the last lines contains this.
    pub(crate) fn ends_with(&self, text: &str) -> bool {
        self.tail.iter().any(|line| line.contains(text))
    }
}

fn kind(line: &str) -> Kind {
    let trimmed = line.trim_start();
    let of_compiler = trimmed.starts_with("error[")
        || trimmed.starts_with("error:")
        || trimmed.starts_with("ERROR:")
        || line.contains(": error:")
        || line.contains(": fatal error:")
        || line.contains("undefined reference to")
        || line.contains(" Error: ");
    if of_compiler {
        Kind::Error
    } else if trimmed.starts_with("***") || line.contains(": *** ") {
        Kind::Make
    } else if is_detail(line) {
        Kind::Detail
    } else {
        Kind::Other
    }
}

/// Returns true for a note, the place of an error, or a quoted line of its source. Make's own lines
/// (`  CC      fs/file.o`) are also indented, but begin with capital letters.
fn is_detail(line: &str) -> bool {
    let trimmed = line.trim_start();
    let number = trimmed.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let quotes = number.trim_start().starts_with('|') || trimmed.starts_with("= ");
    let arrow = trimmed.starts_with("-->") || trimmed.starts_with("::: ");
    let note =
        line.contains(": note:") || trimmed.starts_with("note:") || trimmed.starts_with("help:");
    quotes || arrow || note
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: &str) -> (&'static str, String) {
        let mut complaints = Complaints::default();
        output.lines().for_each(|line| complaints.line(line));
        complaints.into_lines()
    }

    #[test]
    fn an_error_of_gcc_comes_with_its_function_and_its_source() {
        let around: String = (0..40).map(|n| format!("  CC      fs/{n}.o\n")).collect();
        let error = "fs/a.c: In function 'f':\nfs/a.c:7:9: error: 'x' undeclared\n    7 |  return \
                     x;\n      |         ^\n";
        let make = "make[3]: *** [scripts/Makefile.build:229: fs/a.o] Error 1\n";
        let waiting = "make[3]: *** Waiting for unfinished jobs....\nmake[2]: *** \
                       [scripts/Makefile.build:478: fs] Error 2\n";
        let (word, text) = of(&format!("{around}{error}{make}{around}{waiting}"));
        assert_eq!(word, "its errors");
        let first = format!("{error}{make}");
        assert!(text.starts_with(&first), "{text}");
        assert_eq!(text.lines().count(), 7, "{text}");
        assert!(
            text.ends_with("CC      fs/39.o\nmake[3]: *** Waiting for unfinished jobs...."),
            "{text}"
        );
    }

    #[test]
    fn an_error_of_rustc_comes_with_its_place() {
        let error = "error[E0425]: cannot find value `x` in this scope\n --> /m/lib.rs:3:5\n  \
                     |\n3 |     x\n  |     ^ not found";
        let (_, text) = of(&format!(
            "  RUSTC [M] /m/lib.o\n{error}\n\nerror: aborting due to 1 previous error"
        ));
        assert!(text.starts_with(&format!("  RUSTC [M] /m/lib.o\n{error}\n")), "{text}");
    }

    #[test]
    fn errors_of_the_linker_of_modpost_and_of_the_shell_are_kept() {
        for line in [
            "ld: fs/a.o: in function `f': fs/a.c:7: undefined reference to `g'",
            "ERROR: modpost: \"g\" [/m/a.ko] undefined!",
            "/tmp/x.s: Error: no such instruction: `foo'",
        ] {
            assert_eq!(of(&format!("  LD      vmlinux\n{line}\n  more")).0, "its errors", "{line}");
        }
        let (_, text) =
            of("/bin/sh: 1: flex: not found\nmake[1]: *** [scripts/Makefile.host:9: x] Error 127");
        assert!(text.starts_with("/bin/sh: 1: flex: not found\n"), "{text}");
    }

    #[test]
    fn many_errors_are_counted_and_no_error_leaves_the_last_lines() {
        let many: String = (0..100).map(|n| format!("fs/{n}.c:1:1: error: x\n")).collect();
        let (_, text) = of(&many);
        assert_eq!(text.lines().count(), MOST_LINES + 1);
        assert!(text.ends_with("... and 76 more errors"), "{text}");
        let plain: String = (0..100).map(|n| format!("  CC      fs/error_{n}.o\n")).collect();
        let (word, text) = of(&plain);
        assert_eq!((word, text.lines().count()), ("the last it printed", TAIL_LINES));
    }
}
