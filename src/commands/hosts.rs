//! `explode show --as shiviz` and `--as chrome`: the events of a cluster's hosts, for programs that
//! show them. Exit code 2 if the system is no cluster, 5 if the finding is not seen again.

use explode_runtime::base::Exit;
use explode_runtime::explain::{chrome, shiviz};
use explode_runtime::plan::Registry;

use super::show::story_of;
use super::trace::sound;
use crate::cli::{Format, ShowArgs, ShowForm};
use crate::output;

/// Prints the events of the hosts.
pub fn show(registry: &Registry, args: &ShowArgs) -> Exit {
    let refuse = |text: &str| output::fail(Exit::Usage, text);
    if args.write.is_some() {
        return refuse("--write is for --as sh and --as xfstests");
    }
    if args.format == Format::Jsonl {
        return refuse("--format jsonl is for --as text; ShiViz and Chrome have their own formats");
    }
    let trace = match sound(&args.trace) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let story = match story_of(registry, args, &trace) {
        Ok(story) => story,
        Err(error) => return output::fail(Exit::Usage, error),
    };
    let path = args.trace.display();
    let told = match story.retold {
        Ok(retold) => retold.told,
        Err(why) => return output::fail(Exit::Diverged, format!("{path}: {why}")),
    };
    if told.events.is_empty() {
        let text = format!(
            "{path}: target '{}' is not a cluster, and has no hosts whose events could be shown; \
             use --as text",
            trace.target
        );
        return refuse(&text);
    }
    let text = match args.form {
        ShowForm::Chrome => chrome(&told.events),
        _ => shiviz(&told.events),
    };
    output::line(text.trim_end());
    Exit::Clean
}
