//! `explode compare`: explores a stack with a layer and without it. The difference is the layer's
//! (EX-109, EX-111).

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::base::{ExactCount, Exit, RunError, UsageError};
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::{Finding, Message, Summary};
use serde_json::json;

use super::{quiet, run};
use crate::cli::{CompareArgs, Format};
use crate::{output, required_programs};

/// Explores the stack twice and compares the results.
pub fn compare(registry: &Registry, args: &CompareArgs) -> Exit {
    let compared = plans(registry, args).and_then(|[with, without]| {
        Ok((ExploredStack::of(&with, args.run.jobs)?, ExploredStack::of(&without, args.run.jobs)?))
    });
    match compared {
        Err(error) => run::refused(&error, args.run.format),
        Ok((with, without)) => {
            let comparison = Comparison { layer: &args.without, with: &with, without: &without };
            match args.run.format {
                Format::Jsonl => output::line(&comparison.json().to_string()),
                Format::Human => comparison.lines().iter().for_each(|line| output::line(line)),
            }
            comparison.exit()
        }
    }
}

/// Returns the plan with the layer and the plan without it, in the same mode.
///
/// # Errors
/// An option is for a single run, the plan is refused, or the layer cannot be left out.
fn plans(registry: &Registry, args: &CompareArgs) -> Result<[Plan; 2], RunError> {
    quiet::check_options(&args.run, "compare makes two")?;
    if args.run.each_model {
        let text = "--each-model: compare explores under one model; omit it";
        return Err(UsageError(text.to_owned()).into());
    }
    let with = run::plan(registry, &args.run)?;
    let stack = with.stack.without(&args.without)?;
    let target = format!("{}-without-{}", with.target, args.without);
    let without = Plan { target, stack, ..with.clone() };
    without.check(registry)?;
    for plan in [&with, &without] {
        run::check_jobs(plan, args.run.jobs)?;
        required_programs::check(plan)?;
    }
    Ok([with, without])
}

/// The result of one of the two runs.
struct ExploredStack {
    summary: Summary,
    /// The findings that were replayed and are not by design, one for each signature.
    findings: BTreeMap<String, Finding>,
    /// The failures of the tool or a component.
    broken: Vec<String>,
    plan: Plan,
}

impl ExploredStack {
    /// Explores a plan. Only the progress is shown.
    fn of(plan: &Plan, jobs: u32) -> Result<ExploredStack, RunError> {
        let (mut findings, mut broken) = (BTreeMap::new(), Vec::new());
        let mut listen = |message: &Message| match message {
            Message::Finding(found) if found.replayed && !found.by_design => {
                findings.insert(found.signature.clone(), found.clone());
            }
            Message::Broken { message, .. } => broken.push(message.clone()),
            _ => {}
        };
        let summary = quiet::explore(plan, jobs, &mut listen)?;
        Ok(ExploredStack { summary, findings, broken, plan: plan.clone() })
    }

    fn signatures(&self) -> BTreeSet<&str> {
        self.findings.keys().map(String::as_str).collect()
    }

    /// Returns the counts that a layer must not change if it does nothing but pass data on.
    fn counts(&self) -> [(&'static str, &ExactCount); 3] {
        let Summary { states, operations, choices, .. } = &self.summary;
        [("states", states), ("operations", operations), ("choices", choices)]
    }

    fn line(&self) -> String {
        let counts = self.counts().map(|(name, count)| format!("{count} {name}")).join(", ");
        let Summary { crash_disks, seconds, .. } = &self.summary;
        let checked = self.summary.disks_checked();
        let findings = self.findings.len();
        format!(
            "{counts}, {findings} findings; {crash_disks} crash disks, {checked} checked in \
             {seconds:.1} s"
        )
    }
}

/// The two results.
struct Comparison<'a> {
    layer: &'a str,
    with: &'a ExploredStack,
    without: &'a ExploredStack,
}

impl Comparison<'_> {
    /// Returns the counts that differ: the name, with the layer and without it.
    fn different(&self) -> Vec<(&'static str, &ExactCount, &ExactCount)> {
        let both = self.with.counts().into_iter().zip(self.without.counts());
        let both = both.map(|((name, with), (_, without))| (name, with, without));
        both.filter(|(_, with, without)| with != without).collect()
    }

    /// Returns the signatures that only the run with the layer has, and only the one without it.
    fn only(&self) -> [Vec<&str>; 2] {
        let [with, without] = [self.with.signatures(), self.without.signatures()];
        [with.difference(&without).copied().collect(), without.difference(&with).copied().collect()]
    }

    fn lines(&self) -> Vec<String> {
        let Comparison { layer, with, without } = self;
        let line = |label: &str, text: &str| format!("{label:>12} {text}");
        let more = |text: &str| format!("             {text}");
        let mut lines = vec![
            line("With", &format!("{layer}  {}", with.line())),
            line("Without", &format!("{layer}  {}", without.line())),
        ];
        for (side, broken) in [("with", &with.broken), ("without", &without.broken)] {
            lines
                .extend(broken.iter().map(|why| line("BROKEN", &format!("{side} {layer}: {why}"))));
        }
        let different = self.different();
        for (name, with, without) in &different {
            let text = format!("{name}: {with} with {layer}, {without} without");
            lines.push(line("Different", &text));
        }
        let [added, removed] = self.only();
        if different.is_empty() && added.is_empty() && removed.is_empty() {
            lines.push(line("Equal", "states, operations, choices and findings"));
        }
        for (label, found, of) in [("Removed", &removed, without), ("Added", &added, with)] {
            for signature in found {
                let finding = &of.findings[*signature];
                lines.push(line(label, &format!("{signature}: {}", finding.message)));
                let command = output::paste_for(&of.plan).command("replay", &finding.trace);
                lines.push(more(&format!("replay    {command}")));
            }
        }
        lines
    }

    fn json(&self) -> serde_json::Value {
        let [added, removed] = self.only();
        let side = |explored: &ExploredStack| {
            json!({ "summary": explored.summary, "findings": explored.signatures(),
                "broken": explored.broken })
        };
        json!({
            "type": "comparison",
            "layer": self.layer,
            "with": side(self.with),
            "without": side(self.without),
            "different": self.different().iter().map(|(name, ..)| name).collect::<Vec<_>>(),
            "added": added,
            "removed": removed,
        })
    }

    /// The layer is at fault for the findings that it adds.
    fn exit(&self) -> Exit {
        let is_broken = !(self.with.broken.is_empty() && self.without.broken.is_empty());
        match &self.only()[0][..] {
            [] if is_broken => Exit::Broken,
            [] => Exit::Clean,
            _ => Exit::Findings,
        }
    }
}
