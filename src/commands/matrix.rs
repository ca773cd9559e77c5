//! `explode matrix`: systems by checks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use explode_runtime::base::{Exit, Output, RunError, TargetBounds, UsageError, durable_write};
use explode_runtime::plan::{Registry, check_budget, check_deadline, check_samples};
use explode_runtime::run::fresh_folder;
use serde_json::{Value, json};

use super::plan::mode;
use crate::cli::{Format, MatrixArgs};
use crate::matrix::{self, Cell, CellLimits, CellOutcome, Grid, Share, ShareLimits, Shares};
use crate::outputs::{self, Outputs};
use crate::{interrupt, output, trust};

/// Runs the cells of a matrix and prints the table.
pub fn matrix(registry: &Registry, args: &MatrixArgs) -> Exit {
    let done = match &args.explain {
        Some(cell) => explain(registry, cell, args.format),
        None => fill(registry, args),
    };
    match done {
        Ok(exit) => exit,
        Err(error) => output::fail(error.exit(), error),
    }
}

/// Prints what a cell tries.
fn explain(registry: &Registry, cell: &str, format: Format) -> Result<Exit, RunError> {
    let explained = matrix::explain(registry, cell)?;
    match format {
        Format::Human => explained.lines().iter().for_each(|line| output::line(line)),
        Format::Jsonl => output::line(&typed("explained", json!(explained)).to_string()),
    }
    Ok(Exit::Clean)
}

fn fill(registry: &Registry, args: &MatrixArgs) -> Result<Exit, RunError> {
    // Others see the folder. Once it exists, Ctrl-C ends this process in good order.
    let interrupted = interrupt::watch();
    let page_file = page_file(args)?;
    let (grid, folder) = match &args.resume {
        Some(folder) => {
            let grid = Grid::resume(folder)?;
            grid.check(folder, args.trust)?;
            (grid, folder.clone())
        }
        None => begin(registry, args)?,
    };
    let begin = Instant::now();
    let filling = MatrixRun {
        registry,
        grid: &grid,
        folder: &folder,
        format: args.format,
        shares: shares(&grid, args.jobs),
        order: order(&grid),
        next: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
        interrupted,
        cells: Mutex::new(vec![None; grid.systems.len() * grid.checks.len()]),
    };
    let results: Vec<std::io::Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..args.jobs).map(|_| scope.spawn(|| filling.work())).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    let failed = |error| RunError::folder(&folder, error);
    results.into_iter().collect::<std::io::Result<()>>().map_err(failed)?;
    let cells = filling.cells.into_inner().expect("no worker has panicked");
    let cells: Vec<Cell> = cells.into_iter().flatten().collect();
    let (faults, safe) = (matrix::faults(&grid, &cells), matrix::safe(&grid, &cells));
    let checks: Vec<&str> = grid.checks.iter().map(|check| check.name.as_str()).collect();
    let not_tried = matrix::not_tried(registry, &grid.systems, &checks);
    match args.format {
        Format::Human => {
            output::line("");
            let concluded =
                matrix::Conclusions { faults: &faults, safe: &safe, not_tried: &not_tried };
            let lines = matrix::table(&grid, &cells, concluded, &output::paste(), &folder);
            lines.iter().for_each(|line| output::line(line));
        }
        Format::Jsonl => {
            print_not_tried(&not_tried);
            faults.iter().for_each(|fault| output::line(&typed("fault", json!(fault)).to_string()));
            safe.iter().for_each(|safe| output::line(&typed("safe", json!(safe)).to_string()));
            output::line(&total(&cells, &folder, begin.elapsed()).to_string());
        }
    }
    if args.format == Format::Human && cells.iter().any(|cell| cell.outcome == CellOutcome::NotRun)
    {
        let resume = output::paste().command("matrix --resume", &folder.display().to_string());
        output::line(&format!("  resume   {resume}"));
    }
    let page = matrix::page(&grid, &cells, &faults, &safe, &output::paste());
    let written = write_page(args.html.as_deref().zip(page_file), &folder, &page);
    let any = |outcome| cells.iter().any(|cell| cell.outcome == outcome);
    Ok(if any(CellOutcome::Bug) {
        Exit::Findings
    } else if any(CellOutcome::Broken) || written.is_err() {
        Exit::Broken
    } else {
        Exit::Clean
    })
}

/// Returns the time and the workers of all cells.
fn shares(grid: &Grid, jobs: u32) -> Shares {
    Shares::new(ShareLimits {
        budget: grid.budget_ms.map(Duration::from_millis),
        most: grid.cell_ms.map(Duration::from_millis),
        jobs,
    })
}

/// Prints the JSON lines of the promises that are not tried.
fn print_not_tried(not_tried: &[(String, Vec<&str>)]) {
    for (system, promises) in not_tried {
        let line = json!({ "type": "not-tried", "system": system, "promises": promises });
        output::line(&line.to_string());
    }
}

/// Returns the output of `--html`.
fn page_file(args: &MatrixArgs) -> Result<Option<Output>, UsageError> {
    let inputs = args.systems.iter().map(Path::new);
    let folder = args.out.as_deref().or(args.resume.as_deref());
    let mut outputs = Outputs::beside(inputs).with_folder(folder, &matrix::OWN_NAMES);
    let named = outputs.of_option("--html", args.html.as_deref())?;
    Ok(named.map(|(_, output)| output))
}

/// Writes the page to the file of `--html`, or to the folder.
fn write_page(named: Option<(&Path, Output)>, folder: &Path, page: &str) -> std::io::Result<()> {
    let (path, written) = match named {
        Some((path, output)) => (path.to_owned(), output.write(page.as_bytes())),
        None => {
            let path = folder.join(matrix::PAGE);
            let written = durable_write(&path, page.as_bytes());
            (path, written)
        }
    };
    written.inspect_err(|error| {
        let text =
            format!("cannot write {}: {error}; name another file with --html", path.display());
        output::fail(outputs::exit(error), text);
    })
}

/// Creates a new matrix and its folder.
fn begin(registry: &Registry, args: &MatrixArgs) -> Result<(Grid, PathBuf), RunError> {
    let all = |names: &[String], all: Vec<&str>| match names {
        [] => all.into_iter().map(str::to_owned).collect(),
        names => names.to_vec(),
    };
    let all_systems = registry.rows.iter().map(|system| system.name);
    let all_systems = all_systems.filter(|_| args.family.is_empty()).collect();
    let systems = all(&args.systems, all_systems);
    let checks = all(&args.check, registry.columns.iter().map(|column| column.name).collect());
    let row = |name: &String| matrix::Row::named(registry, name);
    let column = |name: &String| -> Result<matrix::Column, UsageError> {
        let mut column = matrix::Column::named(registry, name)?;
        let TargetBounds { depth, limit, samples, .. } = &mut column.bounds;
        *depth = depth.saturating_add(args.deeper);
        *limit = args.limit.unwrap_or(*limit);
        *samples = args.samples.unwrap_or(*samples);
        Ok(column)
    };
    check_deadline(args.deadline)?;
    check_samples(args.limit.unwrap_or_default(), args.samples.unwrap_or_default())?;
    args.budget.map_or(Ok(()), check_budget)?;
    if args.cell == Some(0) {
        let text =
            "a run of 0 has no time for anything; use at least 1ms with --cell, 2m is the default";
        return Err(UsageError(text.to_owned()).into());
    }
    let mut rows = systems.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    for family in &args.family {
        rows.extend(matrix::rows(registry, family)?);
    }
    let grid = Grid {
        systems: rows,
        checks: checks.iter().map(column).collect::<Result<_, _>>()?,
        mode: args.mode.map(mode),
        budget_ms: args.budget,
        cell_ms: args.cell,
        deadline_ms: args.deadline,
        seed: args.seed,
        tag: None,
    };
    once("system", grid.systems.iter().map(|row| row.name.as_str()))?;
    once("check", grid.checks.iter().map(|column| column.name.as_str()))?;
    let folder = fresh_folder(args.out.as_deref(), "matrix")?;
    let grid = grid.clone().tagged(trust::secret(&grid.commands()).as_ref());
    grid.write(&folder).map_err(|error| RunError::folder(&folder, error))?;
    Ok((grid, folder))
}

/// Checks that each name occurs once, because cells have folders of these names.
fn once<'n>(kind: &str, names: impl Iterator<Item = &'n str>) -> Result<(), UsageError> {
    let mut seen = BTreeSet::new();
    let twice = names.into_iter().find(|name| !seen.insert(*name));
    twice.map_or(Ok(()), |name| {
        Err(UsageError(format!("two of a {kind} are called '{name}'; name each once")))
    })
}

/// Returns the numbers of the cells, row by row. Cells that use all of their time come last, so
/// that they also use the time that others have left.
fn order(grid: &Grid) -> Vec<usize> {
    let columns = grid.checks.len();
    let deepens = |at: &usize| grid.checks[at % columns].deepens;
    let all = 0..grid.systems.len() * columns;
    all.clone().filter(|at| !deepens(at)).chain(all.filter(deepens)).collect()
}

/// The data that the workers share.
struct MatrixRun<'a> {
    registry: &'a Registry,
    grid: &'a Grid,
    folder: &'a Path,
    format: Format,
    shares: Shares,
    /// The numbers of the cells, in the order in which they are run.
    order: Vec<usize>,
    next: AtomicUsize,
    ended: AtomicUsize,
    interrupted: &'a AtomicBool,
    cells: Mutex<Vec<Option<Cell>>>,
}

impl MatrixRun<'_> {
    /// Runs one cell after the other.
    fn work(&self) -> std::io::Result<()> {
        let of = self.order.len();
        loop {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(at) = self.order.get(next).copied() else { return Ok(()) };
            let cell = self.cell(at, (of - next) as u32)?;
            let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
            match self.format {
                Format::Human => output::line(&matrix::cell_line(&cell, ended, of)),
                Format::Jsonl => output::line(&typed("cell", cell.json()).to_string()),
            }
            self.cells.lock().expect("no worker has panicked")[at] = Some(cell);
        }
    }

    /// Runs the cell with number `at`, or reads it if an earlier process has run it. `left` cells
    /// are not started yet, including this one.
    fn cell(&self, at: usize, left: u32) -> std::io::Result<Cell> {
        let MatrixRun { registry, grid, folder, interrupted, .. } = *self;
        let row = &grid.systems[at / grid.checks.len()];
        let column = &grid.checks[at % grid.checks.len()];
        let place = Grid::place(folder, row, column);
        if let Some(cell) = Cell::read(&place) {
            // The file may come from another user, and names are parts of lines.
            return Ok(Cell { system: row.name.clone(), check: column.name.clone(), ..cell });
        }
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Cell::without(row, column, CellOutcome::NotRun, "interrupted"));
        }
        let Some(share) = self.shares.take(column.deepens, left) else {
            return Ok(Cell::without(row, column, CellOutcome::NotRun, "the budget was spent"));
        };
        let deadline = Duration::from_millis(grid.deadline_ms);
        let Share { budget, control, jobs } = share;
        let limits = CellLimits { budget, jobs, deadline, until: None, interrupted };
        let cell = matrix::run_cell(registry, grid, row, column, &place, limits, control)?;
        self.shares.give_back(share, Duration::from_secs_f64(cell.seconds));
        Ok(cell)
    }
}

/// Returns the last line, with the number of cells of each outcome.
fn total(cells: &[Cell], folder: &Path, elapsed: Duration) -> Value {
    let mut total = json!({
        "type": "matrix",
        "cells": cells.len(),
        "out": folder.display().to_string(),
        "seconds": elapsed.as_secs_f64(),
    });
    for outcome in CellOutcome::ALL {
        let count = cells.iter().filter(|cell| cell.outcome == outcome).count();
        total[outcome.key()] = count.into();
    }
    // Its key in the last release.
    total["blind"] = total[CellOutcome::Inconclusive.key()].clone();
    total
}

fn typed(kind: &str, mut value: Value) -> Value {
    value["type"] = kind.into();
    value
}
