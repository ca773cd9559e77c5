//! The commands of pages that do not run beside the page: where they run, or why nowhere.

/// Where commands that begin like this run.
#[derive(Debug)]
pub struct Elsewhere {
    /// How the command begins. Of several entries the longest one counts.
    pub command: &'static str,
    /// The page, or nothing for all pages.
    pub page: &'static str,
    pub why: Why,
}

/// Why a command does not run beside its page.
#[derive(Debug)]
pub enum Why {
    /// It needs a guest. The case runs the same checker on the same stack there; the command itself
    /// is read, with all its names and options.
    Guest { test: &'static str, case: &'static str },
    /// Another test runs it.
    Test { test: &'static str, case: &'static str },
    /// No test runs it.
    #[expect(dead_code, reason = "the reason is for readers")]
    Not(&'static str),
}

const fn guest(command: &'static str, test: &'static str, case: &'static str) -> Elsewhere {
    Elsewhere { command, page: "", why: Why::Guest { test, case } }
}

const fn test(
    command: &'static str,
    page: &'static str,
    test: &'static str,
    case: &'static str,
) -> Elsewhere {
    Elsewhere { command, page, why: Why::Test { test, case } }
}

const fn not(command: &'static str, page: &'static str, why: &'static str) -> Elsewhere {
    Elsewhere { command, page, why: Why::Not(why) }
}

pub const ALL: &[Elsewhere] = &[];

/// The entry of a command on this page.
pub fn find(page: &str, command: &str) -> Option<&'static Elsewhere> {
    let begins = |entry: &&Elsewhere| {
        command.starts_with(entry.command) && (entry.page.is_empty() || entry.page == page)
    };
    ALL.iter().filter(begins).max_by_key(|entry| entry.command.len())
}
