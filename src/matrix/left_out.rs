//! A cell with a bug, run again without each of its layers, as `explode compare --without` does. A
//! bug that shows without the layer does not belong to it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::Ordering;

use explode_runtime::base::{ExactCount, UsageError};
use explode_runtime::plan::Registry;
use explode_runtime::report::Finding;
use explode_runtime::stack::{Layer, StackSpec};
use serde::{Deserialize, Serialize};

use super::CellFile;
use super::cell_run::{CellLimits, CellRun};
use super::grid::{Column, Grid};
use super::row::Row;

/// The option of a disk that lets it go bad.
const FAULTS: &str = "faults";

/// The run of a cell without a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutLayer {
    /// The name of the layer.
    pub layer: String,
    /// The signatures of the cell's bugs that were found without it.
    pub found: Vec<String>,
    /// The number of disks that were checked without it.
    pub checked: ExactCount,
    /// The reason why the run has no verdict about the other bugs. `None` if it has.
    pub why: Option<String>,
}

/// The result of a run without a layer, for one bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShowsWithout {
    /// The bug shows without the layer, so it is not the layer's.
    Shows,
    /// The bug was not found without the layer, within the bounds.
    Hidden,
    /// The run without the layer has no verdict.
    Unknown,
}

impl LeftOutLayer {
    /// Returns whether a bug shows without the layer.
    pub fn shows(&self, signature: &str) -> ShowsWithout {
        match self.why {
            _ if self.found.iter().any(|found| found == signature) => ShowsWithout::Shows,
            None => ShowsWithout::Hidden,
            Some(_) => ShowsWithout::Unknown,
        }
    }
}

/// Makes the file and the run of this name.
type RunOnce<'r> = dyn Fn(&CellFile<'_>, &str, CellLimits<'_>) -> io::Result<CellRun> + 'r;

/// Runs a cell without each of its layers, bottom first. A run ends once it has found all `bugs`.
/// Together the runs have the budget of `limits`.
///
/// # Errors
/// A file cannot be written, or a process cannot be started.
pub fn run(
    registry: &Registry,
    grid: &Grid,
    row: &Row,
    column: &Column,
    bugs: &BTreeSet<&str>,
    once: &RunOnce<'_>,
    limits: CellLimits<'_>,
) -> io::Result<Vec<LeftOutLayer>> {
    let stacks = stacks(registry, &row.stack).unwrap_or_default();
    let budget = limits.budget / u32::try_from(stacks.len().max(1)).unwrap_or(u32::MAX);
    let mut left_out = Vec::new();
    for (layer, stack) in stacks {
        let name = format!("without-{layer}");
        let row = Row { stack, ..row.clone() };
        // The layer that is now on top may lack the options of the check.
        let Ok(cell_file) = CellFile::new(registry, grid, &row, column) else { continue };
        if limits.interrupted.load(Ordering::Relaxed) {
            break;
        }
        let seen = RefCell::new(BTreeSet::new());
        let all_seen = |finding: &Finding| {
            seen.borrow_mut().insert(finding.signature.clone());
            bugs.iter().all(|bug| seen.borrow().contains(*bug))
        };
        let limits = CellLimits { budget, until: Some(&all_seen), ..limits };
        let run = once(&cell_file, &name, limits)?;
        left_out.push(judge(layer, bugs, run));
    }
    Ok(left_out)
}

fn judge(layer: String, bugs: &BTreeSet<&str>, run: CellRun) -> LeftOutLayer {
    let found = run.findings.iter().filter(|finding| finding.replayed);
    let found: BTreeSet<&str> = found.map(|finding| finding.signature.as_str()).collect();
    let found = bugs.iter().filter(|bug| found.contains(**bug)).map(|bug| (*bug).to_owned());
    let checked = run.summary.as_ref().map(|summary| summary.checked.clone());
    let why = match (&checked, run.broken.first()) {
        _ if run.interrupted => Some("interrupted".to_owned()),
        _ if run.hung => Some("it did not end in time, and was killed".to_owned()),
        (_, Some(unable)) => Some(unable.message.clone()),
        (None, None) => Some(run.stderr.lines().last().unwrap_or("it printed no error").to_owned()),
        (Some(checked), None) if checked.is_zero() => Some("no disk was checked".to_owned()),
        (Some(_), None) => None,
    };
    LeftOutLayer { layer, found: found.collect(), checked: checked.unwrap_or_default(), why }
}

/// Returns the layers that can be left out, bottom first, and the stack without each. The top layer
/// and other systems with a profile can if they stand on a system with a profile, as overlay does.
fn stacks(registry: &Registry, stack: &StackSpec) -> Result<Vec<(String, StackSpec)>, UsageError> {
    // The stack up to a layer. Its profile is that of this layer.
    let is_system = |up_to: usize| {
        let part = StackSpec(stack.0[..=up_to].to_vec());
        Ok(registry.components.profile_of(&part)?.is_some())
    };
    let mut stacks = Vec::new();
    for (at, layer) in stack.0.iter().enumerate() {
        let Some(child) = layer.children.first() else { continue };
        let child = stack.0.iter().position(|layer| layer.name == *child);
        let is_needed = at + 1 == stack.0.len() || is_system(at)?;
        if is_needed && !child.map_or(Ok(false), is_system)? {
            continue;
        }
        let mut rest = stack.without(&layer.name)?;
        if can_lose(registry, layer)? > 0 {
            without_faults(&mut rest);
        }
        stacks.push((layer.name.clone(), rest));
    }
    Ok(stacks)
}

/// Returns the number of disks that a layer can do without.
fn can_lose(registry: &Registry, layer: &Layer) -> Result<u32, UsageError> {
    Ok((registry.component(&layer.component)?.build)(&layer.options)?.facts().can_lose)
}

/// Makes all disks healthy. Without the array that can lose a disk, each fault is a loss, whatever
/// stands on the disk.
fn without_faults(stack: &mut StackSpec) {
    for layer in &mut stack.0 {
        if layer.options.iter().any(|(key, _)| key == FAULTS) {
            layer.options = std::mem::take(&mut layer.options).with(FAULTS, "none");
        }
    }
}

#[cfg(test)]
mod tests {
    use explode_runtime::base::Options;

    use super::*;

    fn of(stack: &StackSpec) -> Vec<(String, Vec<String>)> {
        let stacks = stacks(&crate::registry(), stack).unwrap();
        let shown = |stack: StackSpec| stack.0.iter().map(Layer::shown).collect();
        stacks.into_iter().map(|(layer, stack)| (layer, shown(stack))).collect()
    }

    /// The disk below a redundant array is healthy without it. One below an array without
    /// redundancy goes bad as before.
    #[test]
    fn layers_between_the_disks_and_the_system_can_be_left_out() {
        let disk = |name: &str| Layer {
            name: name.to_owned(),
            component: "ramdisk".to_owned(),
            children: Vec::new(),
            options: Options::none().with("faults", "unreadable"),
        };
        let raid = |level: u64| {
            let md = Layer {
                name: "md".to_owned(),
                component: "md".to_owned(),
                children: vec!["d0".to_owned(), "d1".to_owned()],
                options: Options::none().with("level", level),
            };
            StackSpec(vec![disk("d0"), disk("d1"), md]).plug("ext4", Options::none())
        };
        let without = |level: u64, disk: &str| {
            assert_eq!(
                of(&raid(level)),
                [("md".to_owned(), vec![disk.to_owned(), "ext4".to_owned()])]
            );
        };
        without(1, "d0(faults=none)");
        without(0, "d0(faults=unreadable)");
    }

    #[test]
    fn the_top_layer_can_be_left_out_if_the_rest_is_a_system() {
        let registry = crate::registry();
        let rows = ["ext4", "overlay", "toyfs"].map(|name| registry.stack_of(name).unwrap());
        let layers =
            rows.map(|stack| of(&stack).into_iter().map(|(layer, _)| layer).collect::<Vec<_>>());
        assert_eq!(layers, [Vec::new(), vec!["overlay".to_owned()], Vec::new()]);
    }
}
