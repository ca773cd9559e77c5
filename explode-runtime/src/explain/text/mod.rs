//! A story as text: right-aligned words, the most important lines first, a command to paste at the
//! end. By default it fits one screen.

mod crash;
mod critical;
mod fit;
mod fold;
mod rows;

use super::story::{Story, StoryRun};
use crate::choose::Choice;
use crate::events::FailedCommand;
use crate::report::{Brief, Colour, Line, brief, one_line};
use crate::stack::{Carried, Layer, simfiles};
use crate::trace::RecordedCrash;
use crate::worker::probe::CitedPromise;
use fit::{Part, SCREEN, fit};
use rows::Telling;

/// The number of lines of a message that are shown without `--all`.
const MESSAGE: usize = 4;

/// The commands at the end of a story.
#[derive(Clone, Copy, Debug)]
pub struct StoryCommands<'a> {
    /// The command that shows all lines, if there is one.
    pub all: Option<&'a str>,
    /// The command that minimises the trace, if there is one.
    pub minimise: Option<&'a str>,
    /// The command that replays the trace.
    pub replay: &'a str,
}

impl Story {
    /// Returns at most 40 lines. `path` is the path of the trace. Output of a dying kernel is cut
    /// to one line, and long lists to their ends.
    pub fn lines(&self, path: &str, commands: &StoryCommands<'_>) -> Vec<Line> {
        let parts = self.parts(path, false);
        let end = self.end(commands);
        // One line is reserved for the command that shows the rest.
        let (mut lines, left_out) = fit(parts, SCREEN - end.len() - 1);
        let all = commands.all.filter(|_| left_out > 0 || self.is_folded());
        lines.extend(all.map(|all| Line::status("More", all)));
        lines.extend(end);
        lines
    }

    /// Returns all lines, with every call and event and the whole output of a kernel.
    pub fn all_lines(&self, path: &str, commands: &StoryCommands<'_>) -> Vec<Line> {
        let parts = self.parts(path, true);
        fit(parts, usize::MAX).0.into_iter().chain(self.end(commands)).collect()
    }

    /// Returns true if rows may be folded or the message may be cut.
    fn is_folded(&self) -> bool {
        let moments = self.retold.iter().flat_map(|retold| &retold.stopped);
        moments.flat_map(|stopped| &stopped.moments).any(|moment| !moment.events.is_empty())
            || self.message().lines().count() > 1
    }

    fn message(&self) -> &str {
        self.retold.as_ref().map_or(&self.trace.message, |retold| &retold.violation.message)
    }

    fn end(&self, commands: &StoryCommands<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        let minimise = commands.minimise.filter(|_| self.may_shrink());
        lines.extend(minimise.map(|minimise| Line::status("Minimise", minimise)));
        lines.push(Line::status("Replay", commands.replay));
        lines
    }

    /// Returns true if `explode minimise` could omit something.
    fn may_shrink(&self) -> bool {
        let Ok(retold) = &self.retold else { return false };
        let moments = retold.stopped.iter().flat_map(|stopped| &stopped.moments);
        let lost = moments.flat_map(|moment| &moment.ranges);
        let lost = lost.filter(|range| range.kept != range.newest()).count();
        self.trace.died.is_none() && (self.trace.mutates > 1 || lost > 1)
    }

    fn parts(&self, path: &str, all: bool) -> Vec<Part> {
        let mut parts = vec![Part::whole(self.head(path, all))];
        match &self.retold {
            Err(why) => {
                let not_run = format!("{why}; this is what the file has");
                parts.push(Part::whole(vec![
                    Line::status("NOT RUN", &not_run).coloured(Colour::Yellow),
                ]));
                let commands = self.trace.commands().into_iter().map(|Carried { place, text }| {
                    let text = format!("{}: {}", one_line(&place), one_line(&text));
                    Line::status("Command", &text)
                });
                parts.push(Part::list(commands.collect(), Vec::new()));
                let choices = std::slice::from_ref(&self.trace.choices);
                parts.push(Part::list(mutates(choices, &[], self.trace.mutates != 1), Vec::new()));
                parts.push(Part::list(self.recorded_disks(), Vec::new()));
            }
            Ok(retold) => self.retold(&mut parts, retold, all),
        }
        parts
    }

    fn head(&self, path: &str, all: bool) -> Vec<Line> {
        let trace = &self.trace;
        let mode = trace.mode.as_str();
        let mut lines = vec![Line::status("Trace", path)];
        let mut detail = |word: &str, text: &str| lines.push(Line::detail(word, text));
        detail(
            "target",
            &format!("{} in {mode}, found by explode {}", trace.target, trace.explode),
        );
        let layers = trace.stack.0.iter().map(Layer::shown).collect::<Vec<_>>().join(" < ");
        detail("stack", &format!("{layers} < {}", trace.checker));
        let others = trace.versions.iter().filter(|(name, _)| *name != "explode");
        let versions: Vec<String> =
            others.map(|(name, version)| format!("{name} {version}")).collect();
        if !versions.is_empty() {
            detail("versions", &versions.join(", "));
        }
        if let Some(recorded) = &trace.recorded {
            let RecordedCrash { base, events, .. } = &**recorded;
            let text = format!(
                "the files before the work ({} bytes as a log), and {} events ({} bytes)",
                base.bytes, events.count, events.bytes
            );
            detail("recorded", &text);
        }
        for (name, recorded, now) in self.retold.iter().flat_map(|retold| &retold.other_versions) {
            detail("differs", &format!("{name} was {recorded}, and is {now} now"));
        }
        let (shown, hidden) = self.shown_message(all);
        let (word, colour) = match trace.by_design {
            true => ("by design", Colour::Plain),
            false => ("FAIL", Colour::Red),
        };
        let fails = format!("{}: {shown}", trace.verdict);
        lines.push(Line::status(word, &fails).coloured(colour));
        let mut detail = |word: &str, text: &str| lines.push(Line::detail(word, text));
        if let Some(hidden) = hidden {
            detail("more", &hidden);
        }
        detail("bug", &trace.signature);
        let epoch = match (trace.epoch, trace.died) {
            (_, Some(step)) => format!("step {step} hung, or ended its process or guest"),
            (Some(epoch), None) => format!("after a crash, epoch {epoch}"),
            (None, None) if self.has_own_story() => format!("at step {}", trace.mutates),
            (None, None) => "without a crash: mutate itself saw it".to_owned(),
        };
        detail("when", &epoch);
        lines
    }

    /// Returns true if the system tells its own story.
    fn has_own_story(&self) -> bool {
        self.retold.as_ref().is_ok_and(|retold| !retold.told.lines.is_empty())
    }

    /// Returns the message, cut unless `all` is true, and a note on the omitted lines.
    fn shown_message(&self, all: bool) -> (String, Option<String>) {
        let message = self.message();
        if all {
            return (message.to_owned(), None);
        }
        let Brief { text, hidden } = brief(message);
        if hidden > 0 {
            return (text, Some(format!("{hidden} lines of the kernel, with --all")));
        }
        let lines: Vec<&str> = text.split('\n').collect();
        if lines.len() <= MESSAGE {
            return (text, None);
        }
        let more = format!("{} lines of the message, with --all", lines.len() - MESSAGE);
        (lines[..MESSAGE].join("\n"), Some(more))
    }

    fn retold(&self, parts: &mut Vec<Part>, retold: &StoryRun, all: bool) {
        let mut lines = vec![self.promise(retold)];
        if retold.by_search {
            lines.push(Line::detail(
                "by search",
                "the recorded disk is not there any more; this is another one that fails so",
            ));
        }
        parts.push(Part::whole(lines));
        match retold.told.lines.split_first() {
            None => {
                let lines = mutates(&retold.choices, &retold.failed, false);
                parts.push(Part::list(lines, Vec::new()));
            }
            Some((heading, rows)) => {
                parts.push(Part::whole(vec![Line::status("", heading)]));
                let rows = rows.iter().map(|row| Line::status("", row));
                parts.push(Part::list(rows.collect(), Vec::new()));
            }
        }
        let Some(stopped) = &retold.stopped else { return };
        let lowest = self.trace.stack.0.first().map(|layer| layer.component.as_str());
        let telling = Telling { all, simulated: lowest == Some(simfiles::NAME) };
        let last = stopped.moments.len().saturating_sub(1);
        for level in 0..stopped.moments.len() {
            let critical = retold.critical.as_ref().filter(|_| level == last);
            crash::parts(parts, stopped, level, critical, telling);
        }
        if let (Some(search), Some(moment)) = (&retold.critical, stopped.moments.last()) {
            parts.push(Part::whole(critical::lines(search, moment, telling)));
        }
    }

    /// Returns the line about the broken promise, with its words if they are known.
    fn promise(&self, retold: &StoryRun) -> Line {
        let Some(CitedPromise { system, name, kept, quote, source }) = &retold.promise else {
            return Line::detail("broken", self.trace.promise());
        };
        let (word, promises) =
            if *kept { ("broken", "promises it") } else { ("promise", "does not promise it") };
        Line::detail(word, &format!("{name}: {system} {promises}: \"{quote}\" ({source})"))
    }

    fn recorded_disks(&self) -> Vec<Line> {
        let disks = self.trace.crash_disk.iter().chain(&self.trace.recovery).map(|disk| {
            let blocks = disk.blocks.iter();
            let names: Vec<String> =
                blocks.map(|(dev, sector, version)| format!("{dev}:{sector}v{version}")).collect();
            let kept = if names.is_empty() { "nothing".to_owned() } else { names.join(" ") };
            Line::status("Crash", &format!("kept {kept} (device:sector, version)"))
        });
        disks.collect()
    }
}

/// Returns lines for each mutate with its choices and its failed step. If `together` is true, it is
/// unknown which mutate a choice belongs to.
fn mutates(mutates: &[Vec<Choice>], failed: &[FailedCommand], together: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for (index, choices) in mutates.iter().enumerate() {
        let word = if together { "Choices".to_owned() } else { format!("Mutate {}", index + 1) };
        let mut choices = choices.iter().map(choice);
        let first = choices.next().unwrap_or_else(|| "chooses nothing".to_owned());
        lines.push(Line::status(&word, &first));
        lines.extend(choices.map(|choice| Line::status("", &choice)));
        for (_, how) in failed.iter().filter(|(mutate, _)| *mutate as usize == index + 1) {
            let text = format!("a step failed, and those after it were not run: {how}");
            lines.push(Line::status("", &text));
        }
    }
    lines
}

/// Returns a choice in words.
fn choice(choice: &Choice) -> String {
    let Choice { options, value, name, label, .. } = choice;
    match name {
        Some(name) => format!("{name} ({} of {options} at {label})", value + 1),
        None => format!("option {} of {options} at {label}", value + 1),
    }
}

#[cfg(test)]
mod tests {
    use crate::explain::Story;
    use crate::trace::Trace;

    use super::{SCREEN, StoryCommands};
    use crate::report::Line;

    const WARNING: &[u8] = include_bytes!("../../../../bugs/hfs-mdb-write-error/trace.json");

    const COMMANDS: StoryCommands<'static> =
        StoryCommands { all: Some("show --all"), minimise: Some("minimise"), replay: "replay" };

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::plain).collect()
    }

    #[test]
    fn a_warning_of_the_kernel_is_one_line_without_all() {
        let trace = Trace::from_json(WARNING).unwrap();
        let all = trace.message.lines().count();
        let story = Story::of_file(trace, "no guest".to_owned());
        let short = texts(&story.lines("t.json", &COMMANDS));
        let whole = texts(&story.all_lines("t.json", &COMMANDS)).join("\n");
        let place = "WARNING: CPU: 0 PID: 1 at fs/buffer.c:1181 mark_buffer_dirty+0x63/0xa0";
        let line = format!("        FAIL kernel-warn: in step finish: {place}");
        assert!(short.contains(&line), "{short:?}");
        let more = format!("             more      {} lines of the kernel, with --all", all - 1);
        assert!(short.contains(&more) && !short.join("\n").contains("RAX: "), "{short:?}");
        assert!(
            whole.contains(&line) && whole.contains("RAX: ") && !whole.contains("--all"),
            "{whole}"
        );
    }

    /// Tests the stories of machines that cannot run the traces. `tests/output` and the guest test
    /// the others.
    #[test]
    fn the_file_of_each_known_bug_fits_one_screen() {
        let bugs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../bugs");
        let folders = std::fs::read_dir(bugs).unwrap().map(|entry| entry.unwrap().path());
        let files = folders.filter(|path| path.is_dir()).flat_map(|folder| {
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())
        });
        let mut seen = 0;
        for file in files.filter(|file| file.extension().is_some_and(|word| word == "json")) {
            let trace = Trace::from_json(&std::fs::read(&file).unwrap()).unwrap();
            let story = Story::of_file(trace, "no guest".to_owned());
            let lines = story.lines("t.json", &COMMANDS);
            let rows = texts(&lines).join("\n").lines().count();
            assert!(rows <= SCREEN, "{}: {rows} lines", file.display());
            assert_eq!(lines.last().unwrap().plain(), "      Replay replay");
            seen += 1;
        }
        assert!(seen > 50, "{seen} traces");
    }
}
