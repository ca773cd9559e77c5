//! The text form of messages for a person: right-aligned words, little output without findings, and
//! at the end of a finding a command to paste.

use std::io::{self, Write};

use super::kernel_words::{Brief, brief};
use super::layout::{Colour, Line, detail_line};
use super::message::{DepthCounts, DepthDone, Finding, Message, RunInfo, Summary};
use super::paste::Paste;
use super::progress::{ProgressPace, progress_text};
use crate::base::{Mode, TallyGroup, plural};
use crate::plan::{GuestPackages, NO_DEPTH, RootfsArchive, RunSettings};
use crate::stack::Layer;

/// A writer of messages as text.
#[derive(Debug)]
pub struct HumanWriter<W> {
    out: W,
    colour: bool,
    /// The commands in the output.
    paste: Paste,
    /// The command that reproduces the first finding. `None` without a reproduced finding.
    first_replay: Option<String>,
    /// The findings reported so far. If a finding is reported again, only its count has changed.
    reported: Vec<(String, bool)>,
    /// True if the run has no bound on the depth, so that the summary tells the depth.
    any_depth: bool,
    /// The times at which a line of progress is due.
    pace: ProgressPace,
}

impl<W: Write> HumanWriter<W> {
    /// Returns a writer to `out`. `program` is the name by which the user calls this program.
    pub fn new(out: W, colour: bool, program: &str) -> HumanWriter<W> {
        let paste = Paste::new(program);
        HumanWriter {
            out,
            colour,
            paste,
            first_replay: None,
            reported: Vec::new(),
            any_depth: false,
            pace: ProgressPace::default(),
        }
    }

    /// Writes one message. Of progress only a few lines are written, because lines stay in the
    /// output.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub fn message(&mut self, message: &Message) -> io::Result<()> {
        match message {
            Message::Run(run) => self.run(run)?,
            Message::Progress(progress) if self.pace.is_due(progress.seconds) => {
                self.line("Running", Colour::Plain, &progress_text(progress))?;
            }
            Message::Progress(_) => {}
            Message::Finding(finding) => self.finding(finding)?,
            Message::Broken { kind, message, .. } => {
                let text = kind.of(message).to_string();
                self.line("BROKEN", Colour::Yellow, &brief(&text).text)?;
            }
            Message::Depth(done) => self.depth(done)?,
            Message::Summary(summary) => self.summary(summary)?,
        }
        self.out.flush()
    }

    fn run(&mut self, run: &RunInfo) -> io::Result<()> {
        let RunSettings {
            strategy,
            prefix: _,
            seed,
            depth,
            states,
            budget_ms,
            walks,
            walks_in_unit: _,
            rules,
            limit,
            samples,
            crash_depth,
            chop,
            soft,
            deadline_ms,
            skip: _,
            guest,
        } = &run.options;
        self.paste = self.paste.for_plan(run.mode, &run.stack, &run.checker_options);
        let version = &run.versions["explode"];
        let lower = |word: &dyn std::fmt::Debug| format!("{word:?}").to_lowercase();
        let mode = lower(&run.mode);
        self.line("Explode", Colour::Green, &format!("{version}  {} in {mode}", run.target))?;
        let layers: Vec<String> = run.stack.0.iter().map(Layer::shown).collect();
        self.line("Stack", Colour::Plain, &format!("{} < {}", layers.join(" < "), run.checker))?;
        let crashes =
            if *soft { "soft crashes".to_owned() } else { format!("crash-depth {crash_depth}") };
        self.any_depth = *depth == NO_DEPTH;
        let depth = if self.any_depth { "any depth".to_owned() } else { format!("depth {depth}") };
        let mut bounds = format!("{depth}, limit {limit} disks, samples {samples}, {crashes}");
        chop.iter().for_each(|chop| bounds += &format!(", chop {chop}"));
        states.iter().for_each(|states| bounds += &format!(", states {states}"));
        walks.iter().for_each(|walks| bounds += &format!(", walks {walks}"));
        budget_ms
            .iter()
            .for_each(|budget| bounds += &format!(", budget {}s", *budget as f64 / 1000.0));
        bounds += &format!(", deadline {}s", *deadline_ms as f64 / 1000.0);
        self.line("Bounds", Colour::Plain, &format!("{bounds}; strategy {strategy}, seed {seed}"))?;
        let replace = if rules.replace_versions { ", versions replaced" } else { "" };
        let (completion, atom, block) =
            (lower(&rules.completion), lower(&rules.atom), rules.block_bytes);
        self.line(
            "Device",
            Colour::Plain,
            &format!("completion {completion}, atom {atom}, block {block}{replace}"),
        )?;
        self.packages(guest, run.mode)?;
        let skips = match &run.not_skipping {
            Some(why) => format!("no check: {why}"),
            None => "checks whose verdict is known from another disk".to_owned(),
        };
        self.line("Skipping", Colour::Plain, &skips)?;
        for hidden in &run.unobserved {
            self.line("Unobserved", Colour::Plain, hidden)?;
        }
        if !run.unsupported_calls.is_empty() {
            self.line(
                "Unsupported",
                Colour::Yellow,
                &format!("{}: not there", run.unsupported_calls.join(", ")),
            )?;
        }
        self.forecast(run)?;
        self.line("Folder", Colour::Plain, &run.out)
    }

    /// Writes the number of mutates of a complete run, if it is known.
    fn forecast(&mut self, run: &RunInfo) -> io::Result<()> {
        if !run.forecast.is_empty() {
            let depths = run.forecast.iter().zip(1..);
            let depths = depths.map(|(mutates, depth)| format!("{mutates} at depth {depth}"));
            let depths: Vec<String> = depths.collect();
            let text = format!("{}, if complete", depths.join(", "));
            self.line("Mutates", Colour::Plain, &text)?;
        }
        Ok(())
    }

    /// Writes the packages of the guest, or of the root that commands see, if there are any.
    fn packages(&mut self, guest: &GuestPackages, mode: Mode) -> io::Result<()> {
        if guest.is_empty() {
            return Ok(());
        }
        let whose = if mode == Mode::Vm { "Guest" } else { "Root" };
        let without = match guest.without.join(", ") {
            none if none.is_empty() => none,
            names => format!(", without {names}"),
        };
        if let Some(RootfsArchive { file, hash }) = guest.rootfs.as_deref() {
            return self.line(whose, Colour::Plain, &format!("rootfs {file} ({hash})"));
        }
        let packages = guest.packages.join(", ");
        self.line(whose, Colour::Plain, &format!("packages {packages}{without}"))
    }

    /// Writes the cost of the paths of one length, and the cost of the next ones.
    fn depth(&mut self, done: &DepthDone) -> io::Result<()> {
        let DepthDone { counts, seconds, next_mutates, next_disks } = done;
        let DepthCounts { depth, mutates, checked, .. } = counts;
        let (mutates, checked) = (plural(mutates, "mutate"), plural(checked, "disk"));
        let next = next_mutates.as_ref().map(|next| {
            let disks = next_disks.as_ref();
            let disks = disks.map(|disks| format!(" with about {}", plural(disks, "disk")));
            format!("; next {}{}", plural(next, "mutate"), disks.unwrap_or_default())
        });
        let text = format!(
            "[{seconds:>6.1}s] depth {depth} explored: {mutates}, {checked} checked{}",
            next.unwrap_or_default()
        );
        self.line("Explored", Colour::Plain, &text)
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let (word, colour) = match finding {
            Finding { replayed: false, .. } => ("UNCONFIRMED", Colour::Yellow),
            Finding { by_design: true, .. } => ("by design", Colour::Plain),
            _ => ("FAIL", Colour::Red),
        };
        let reported = (finding.signature.clone(), finding.replayed);
        if self.reported.contains(&reported) {
            let text = format!("{}: {}", finding.signature, finding.shown_by());
            return self.line(word, colour, &text);
        }
        self.reported.push(reported);
        let Brief { text, hidden } = brief(&finding.message);
        self.line(word, colour, &format!("{}: {text}", finding.verdict))?;
        if hidden > 0 {
            let show = self.paste.command("show --all", &finding.trace);
            self.detail("more", &format!("{hidden} lines of the kernel: {show}"))?;
        }
        self.detail("when", &format!("{}, {} checks so far", finding.when(), finding.count))?;
        self.detail("bug", &format!("{}  {}", finding.id, finding.signature))?;
        if let Some(profile) = &finding.profile {
            self.detail("profile", profile)?;
        }
        if let Some(why) = &finding.not_replayed {
            self.detail("differs", &brief(why).text)?;
        }
        let replay = self.paste.command("replay", &finding.trace);
        if finding.replayed && !finding.by_design {
            self.first_replay.get_or_insert_with(|| replay.clone());
        }
        self.detail("replay", &replay)
    }

    fn summary(&mut self, summary: &Summary) -> io::Result<()> {
        let Summary { states, operations, choices, findings, seconds, .. } = summary;
        let complete =
            if summary.complete { "complete within these bounds" } else { "not complete" };
        let colour = if findings.is_zero() { Colour::Green } else { Colour::Red };
        let found = plural(findings, "finding");
        let operations = plural(operations, "operation");
        let of = summary.topologies.as_ref().map_or_else(String::new, |count| match count {
            count if *count == 1.into() => " of 1 topology".to_owned(),
            count => format!(" of {count} topologies"),
        });
        let head = format!(
            "[{seconds:>6.1}s] {found}; {states} states{of}, {operations}, {choices} choices; \
             {complete}"
        );
        self.line("Summary", colour, &head)?;
        if self.any_depth {
            let explored = DepthCounts::text(&summary.depths);
            let explored = explored.map_or_else(String::new, |text| format!("; {text}"));
            self.detail("deepest", &format!("{}{explored}", plural(&summary.deepest, "mutate")))?;
        }
        let disks = match summary {
            Summary { distinct, crash_disks, left_out, .. }
                if distinct.is_zero() && !crash_disks.is_zero() =>
            {
                format!("{crash_disks} crash disks of nodes; {left_out} left out")
            }
            _ => format!(
                "{} crash disks, {} distinct: {} checked, {} equivalent, {} pending; {} left out",
                summary.crash_disks,
                summary.distinct,
                summary.checked,
                summary.equivalent,
                summary.pending,
                summary.left_out
            ),
        };
        self.detail("disks", &disks)?;
        let followed = DepthCounts::followed_text(&summary.depths);
        let Summary { crash_crash_disks, crash_crash_left_out, .. } = summary;
        let is_any = !crash_crash_disks.is_zero() || !crash_crash_left_out.is_zero();
        if is_any || followed.is_some() {
            let text = format!(
                "{crash_crash_disks} disks of crashes during it checked; {crash_crash_left_out} \
                 left out{}",
                followed.map_or_else(String::new, |text| format!("; {text}"))
            );
            self.detail("recovery", &text)?;
        }
        for TallyGroup { name, tallies } in &summary.tallies {
            let tallies: Vec<String> =
                tallies.iter().map(|(name, times)| format!("{name} {times}")).collect();
            self.detail(name, &tallies.join(", "))?;
        }
        if !summary.by_design.is_zero() {
            let text =
                format!("{} show what the profile excludes", plural(&summary.by_design, "check"));
            self.detail("by design", &text)?;
        }
        if !summary.broken.is_zero() {
            let text =
                format!("{}: the tool or a component failed", plural(&summary.broken, "time"));
            self.line("BROKEN", Colour::Yellow, &text)?;
        }
        match self.first_replay.take() {
            Some(replay) => self.detail("replay", &replay),
            None => Ok(()),
        }
    }

    fn detail(&mut self, word: &str, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", detail_line(word, text))
    }

    fn line(&mut self, word: &str, colour: Colour, text: &str) -> io::Result<()> {
        let line = Line::status(word, text).coloured(colour);
        writeln!(self.out, "{}", line.shown(self.colour))
    }
}
