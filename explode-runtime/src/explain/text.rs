//! A story as text: right-aligned words, what a person asks first at the top, a command to paste at
//! the end.

use super::critical::{Critical, Search};
use super::story::{Retold, Story};
use crate::choose::Choice;
use crate::events::{FailedStep, told};
use crate::report::{Brief, brief, detail_line, one_line, status_line};
use crate::stack::{Carried, Layer};
use crate::worker::probe::{Moment, Pending};

/// Of more events the first are left out.
const EVENTS: usize = 40;

impl Story {
    /// Its lines; `path` is where the trace stands, `replay` the command that replays it. Of what a
    /// kernel printed when it ended, one line.
    pub fn lines(&self, path: &str, replay: &str) -> Vec<String> {
        self.told(path, replay, false)
    }

    /// Its lines, with all that a kernel printed when it ended.
    pub fn all_lines(&self, path: &str, replay: &str) -> Vec<String> {
        self.told(path, replay, true)
    }

    fn told(&self, path: &str, replay: &str, all: bool) -> Vec<String> {
        let mut text = Text(Vec::new());
        self.head(&mut text, path, all);
        match &self.retold {
            Err(why) => {
                text.word("NOT RUN", &format!("{why}; this is what the file has"));
                for Carried { place, text: command } in self.trace.commands() {
                    text.word("Command", &format!("{}: {}", one_line(&place), one_line(&command)));
                }
                text.mutates(
                    std::slice::from_ref(&self.trace.choices),
                    &[],
                    self.trace.mutates != 1,
                );
                self.recorded_disks(&mut text);
            }
            Ok(retold) => self.retold(&mut text, retold),
        }
        text.word("Replay", replay);
        text.0
    }

    fn head(&self, text: &mut Text, path: &str, all: bool) {
        let trace = &self.trace;
        let mode = trace.mode.as_str();
        text.word("Trace", path);
        text.detail(
            "target",
            &format!("{} in {mode}, found by explode {}", trace.target, trace.explode),
        );
        let layers = trace.stack.0.iter().map(Layer::shown);
        text.detail(
            "stack",
            &format!("{} < {}", layers.collect::<Vec<_>>().join(" < "), trace.checker),
        );
        let others = trace.versions.iter().filter(|(name, _)| *name != "explode");
        let versions: Vec<String> =
            others.map(|(name, version)| format!("{name} {version}")).collect();
        if !versions.is_empty() {
            text.detail("versions", &versions.join(", "));
        }
        if let Ok(retold) = &self.retold {
            for (name, recorded, now) in &retold.other_versions {
                text.detail("differs", &format!("{name} was {recorded}, and is {now} now"));
            }
        }
        let message =
            self.retold.as_ref().map_or(&trace.message, |retold| &retold.violation.message);
        let Brief { text: short, hidden } = brief(message);
        let shown = if all { message } else { &short };
        text.word(
            if trace.by_design { "by design" } else { "FAIL" },
            &format!("{}: {shown}", trace.verdict),
        );
        if hidden > 0 && !all {
            text.detail("more", &format!("{hidden} lines of the kernel, with --all"));
        }
        text.detail("bug", &trace.signature);
        let epoch = match (trace.epoch, trace.died) {
            (_, Some(step)) => format!("step {step} hung, or ended its process or guest"),
            (Some(epoch), None) => format!("after a crash, epoch {epoch}"),
            (None, None) => "without a crash: mutate itself saw it".to_owned(),
        };
        text.detail("when", &epoch);
    }

    fn retold(&self, text: &mut Text, retold: &Retold) {
        match &retold.promise {
            Some(line) if line.kept => {
                let words = format!(
                    "{}: {} promises it: \"{}\" ({})",
                    line.name, line.system, line.quote, line.source
                );
                text.detail("broken", &words);
            }
            Some(line) => {
                let words = format!(
                    "{}: {} does not promise it: \"{}\" ({})",
                    line.name, line.system, line.quote, line.source
                );
                text.detail("promise", &words);
            }
            None => text.detail("broken", self.trace.promise()),
        }
        if retold.by_search {
            text.detail(
                "by search",
                "the recorded disk is not there any more; this is another one that fails so",
            );
        }
        text.mutates(&retold.choices, &retold.failed, false);
        let Some(standing) = &retold.standing else { return };
        let args = match &standing.spot.args[..] {
            [] => String::new(),
            args => format!("; the check is told: {}", args.join(" ")),
        };
        for (level, moment) in standing.moments.iter().enumerate() {
            let of = match level {
                0 => format!("of request {} for crash checks", standing.spot.interval + 1),
                1 => "of its recovery".to_owned(),
                _ => "of the recovery from that".to_owned(),
            };
            text.events(&of, moment);
            let epoch = standing.spot.epoch;
            let crash = match level {
                0 => format!("epoch {epoch}{args}"),
                _ => "during that recovery".to_owned(),
            };
            text.moment(&crash, moment);
        }
        if let (Some(critical), Some(moment)) = (&retold.critical, standing.moments.last()) {
            text.critical(critical, moment);
        }
    }

    fn recorded_disks(&self, text: &mut Text) {
        for disk in self.trace.crash_disk.iter().chain(&self.trace.recovery) {
            let names = disk
                .blocks
                .iter()
                .map(|(dev, sector, version)| format!("{dev}:{sector}v{version}"));
            let names: Vec<String> = names.collect();
            let kept = if names.is_empty() { "nothing".to_owned() } else { names.join(" ") };
            text.word("Crash", &format!("kept {kept} (device:sector, version)"));
        }
    }
}

struct Text(Vec<String>);

impl Text {
    fn word(&mut self, word: &str, text: &str) {
        self.0.push(status_line(word, text));
    }

    fn detail(&mut self, word: &str, text: &str) {
        self.0.push(detail_line(word, text));
    }

    /// Each mutate with what was chosen, and the step of it that has failed; or all choices, if it
    /// is not known which belong together.
    fn mutates(&mut self, mutates: &[Vec<Choice>], failed: &[FailedStep], together: bool) {
        for (index, choices) in mutates.iter().enumerate() {
            let word =
                if together { "Choices".to_owned() } else { format!("Mutate {}", index + 1) };
            let mut choices = choices.iter().map(choice);
            self.word(&word, &choices.next().unwrap_or_else(|| "chooses nothing".to_owned()));
            choices.for_each(|choice| self.word("", &choice));
            for (_, how) in failed.iter().filter(|(mutate, _)| *mutate as usize == index + 1) {
                self.word("", &format!("a step failed, and those after it were not run: {how}"));
            }
        }
    }

    fn events(&mut self, of: &str, moment: &Moment) {
        let Moment { events, later, .. } = moment;
        let after = if *later > 0 { format!("; {later} came after") } else { String::new() };
        self.word("Events", &format!("{of}, up to the crash: {}{after}", events.len()));
        let left_out = events.len().saturating_sub(EVENTS);
        if left_out > 0 {
            self.detail(
                "",
                &format!("({left_out} earlier ones are not shown; --format jsonl has them)"),
            );
        }
        events.iter().skip(left_out).for_each(|event| self.detail(&event.what, &told(event)));
    }

    fn moment(&mut self, crash: &str, moment: &Moment) {
        let ranges = &moment.ranges;
        let kept = ranges.iter().filter(|range| range.kept.is_some()).count();
        let lost = ranges.iter().filter(|range| range.kept != range.newest()).count();
        self.word(
            "Crash",
            &format!("{crash}; of {} pending ranges {kept} kept, {lost} lost", ranges.len()),
        );
        for range in ranges {
            let word = match range.kept {
                None => "lost",
                kept if kept == range.newest() => "kept",
                Some(_) => "kept old",
            };
            self.detail(word, &pending(range));
        }
    }

    fn critical(&mut self, search: &Search, moment: &Moment) {
        match search {
            Search::NothingPending => self.word("Critical", "no write: nothing was pending"),
            Search::NeverRecovers(all) => {
                let all = if *all { "" } else { ", as far as they were looked at" };
                self.word(
                    "Critical",
                    &format!("no write: of all disks of that moment none recovers{all}"),
                );
            }
            Search::NotMade(why) => self.word("Critical", &format!("not looked for: {why}")),
            Search::Found(critical) => self.found(critical, moment),
        }
    }

    fn found(&mut self, critical: &Critical, moment: &Moment) {
        let Critical { range, version, kept, decision, certain, nearest, as_near, nearest_certain } =
            critical;
        let Some(decided) = moment.ranges.get(*range) else { return };
        let what = if *kept { "reached the disk" } else { "was lost" };
        let how = if *certain {
            "no disk that a crash could still leave"
        } else {
            "no disk that was looked at"
        };
        self.word(
            "Critical",
            &format!("{} {what}: after that {how} recovers", place(decided, Some(*version))),
        );
        self.detail(
            "decision",
            &format!("{} of {}, in the order of writing", decision.0, decision.1),
        );
        if !certain {
            self.detail("bound", "not all disks were looked at: one of the others may recover");
        }
        let differs = nearest.iter().filter_map(|(index, there)| {
            let range = moment.ranges.get(*index)?;
            let here = place(range, range.kept.or(*there));
            Some(match (range.kept, there) {
                (None, Some(_)) => format!("with {here}"),
                (Some(_), None) => format!("without {here}"),
                _ => {
                    format!("with version {} of {}", there.unwrap_or_default(), place(range, None))
                }
            })
        });
        let others = match (as_near, nearest_certain) {
            (1, true) => String::new(),
            (1, false) => "; there may be others as near, or nearer".to_owned(),
            (near, true) => format!("; {near} disks are as near"),
            (near, false) => format!("; at least {near} disks are as near"),
        };
        self.detail("recovers", &format!("{}{others}", differs.collect::<Vec<_>>().join("; ")));
    }
}

/// What was chosen, in words.
fn choice(choice: &Choice) -> String {
    let Choice { options, value, name, label, .. } = choice;
    match name {
        Some(name) => format!("{name} ({} of {options} at {label})", value + 1),
        None => format!("option {} of {options} at {label}", value + 1),
    }
}

/// A range and its versions.
fn pending(range: &Pending) -> String {
    let versions = match (range.kept, &range.versions[..]) {
        (_, [_]) => String::new(),
        (Some(kept), versions) => format!(", version {kept} of {}", list(versions)),
        (None, versions) => format!(", versions {}", list(versions)),
    };
    format!(
        "device {} sector {}, {} bytes{versions}{}",
        range.dev,
        range.name(0).1,
        range.bytes(),
        whose(range)
    )
}

/// Numbers of versions; many in a row as the first and the last.
fn list(versions: &[(u32, u64)]) -> String {
    let numbers: Vec<u32> = versions.iter().map(|version| version.0).collect();
    match &numbers[..] {
        [first, .., last] if numbers.len() > 2 && (*first..=*last).eq(numbers.iter().copied()) => {
            format!("{first} to {last}")
        }
        _ => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn place(range: &Pending, version: Option<u32>) -> String {
    let version = version.filter(|_| range.versions.len() > 1);
    let version = version.map_or_else(String::new, |version| format!(" version {version}"));
    format!("device {} sector {}{version}{}", range.dev, range.name(0).1, whose(range))
}

fn whose(range: &Pending) -> String {
    range.whose.as_ref().map_or_else(String::new, |whose| format!(" ({whose})"))
}

#[cfg(test)]
mod tests {
    use crate::explain::Story;
    use crate::trace::Trace;

    const WARNING: &[u8] = include_bytes!("../../../bugs/hfs-mdb-write-error/trace.json");

    #[test]
    fn a_warning_of_the_kernel_is_one_line_unless_all_is_asked_for() {
        let trace = Trace::from_json(WARNING).unwrap();
        let all = trace.message.lines().count();
        let story = Story::of_file(trace, "no guest".to_owned());
        let (short, whole) = (story.lines("t.json", "r"), story.all_lines("t.json", "r"));
        let place = "WARNING: CPU: 0 PID: 1 at fs/buffer.c:1181 mark_buffer_dirty+0x63/0xa0";
        let line = format!("        FAIL kernel-warn: in step finish: {place}");
        assert!(short.contains(&line), "{short:?}");
        let more = format!("             more      {} lines of the kernel, with --all", all - 1);
        assert!(short.contains(&more) && !short.join("\n").contains("RAX: "), "{short:?}");
        let whole = whole.join("\n");
        assert!(
            whole.contains(&line) && whole.contains("RAX: ") && !whole.contains("--all"),
            "{whole}"
        );
    }
}
