//! `explode bench`: how fast crash disks are checked, beside what a plain loop without explode takes for the same disks.

use std::time::Duration;

use explode_runtime::devices::Lab;
use explode_runtime::run::{BenchReport, Exit, Mode, Plan, Registry, RunError, bench as measure};
use serde_json::json;

use super::plan::plan;
use crate::cli::{BenchArgs, Format};
use crate::guest::host;
use crate::output;

/// The clocks of guest and host may differ by this much before that is said.
const CLOCKS: f64 = 0.02;

/// Measures a target.
pub fn bench(registry: &Registry, args: &BenchArgs) -> Exit {
    let disks = u64::from(args.checks);
    let measured = plan(registry, &args.system).map_err(RunError::from).and_then(|plan| {
        plan.check(registry)?;
        match plan.mode {
            Mode::Vm => host::bench(&plan, disks).map(|(report, time)| (plan, report, Some(time))),
            mode => {
                let report = Lab::open(mode).and_then(|lab| measure(registry, &plan, &lab, disks));
                report.map(|report| (plan, report, None))
            }
        }
    });
    match measured {
        Err(error) => output::fail(error.exit(), error),
        Ok((plan, report, host)) => {
            match args.format {
                Format::Jsonl => output::line(&as_json(&report, host).to_string()),
                Format::Human => {
                    as_text(&plan, &report, host).iter().for_each(|line| output::line(line));
                }
            }
            Exit::Clean
        }
    }
}

fn as_json(report: &BenchReport, host: Option<Duration>) -> serde_json::Value {
    let mut line = json!(report);
    line["type"] = json!("bench");
    line["host_seconds"] = json!(host.map(|host| host.as_secs_f64()));
    line
}

fn as_text(plan: &Plan, report: &BenchReport, host: Option<Duration>) -> Vec<String> {
    let word = |word: &str, text: String| format!("{word:>12} {text}");
    let rate = |us: f64| format!("{:>8.1} disks a second, {:.3} ms each", 1e6 / us, us / 1000.0);
    let BenchReport { target, mode, disks, violations, blocks, rounds, recovery_disks, .. } = report;
    let version = env!("CARGO_PKG_VERSION");
    let mut lines = vec![
        word("Explode", format!("{version}  bench {target} in {}", mode.as_str())),
        word("Stack", format!("{} < {}", plan.stack.names().join(" < "), plan.checker)),
        word(
            "Disks",
            format!("{disks}, {blocks:.1} blocks from one to the next, {violations} with an error; {rounds} rounds"),
        ),
        word("explode", rate(report.explode_us)),
    ];
    match report.floor_us.zip(report.share) {
        Some((floor, share)) => {
            lines.push(word("floor", rate(floor)));
            lines.push(word("share", format!("{share:>8.3}")));
        }
        None => lines.push(word("floor", "nobody has said what a plain loop is for this stack".to_owned())),
    }
    let (crash, crash_crash) = recovery_disks;
    let more = format!("; {crash} disks, and {crash_crash} of crashes during their recovery");
    lines.push(word("crash-depth 1", rate(report.recovery_us) + &more));
    if let Some(restore) = &report.restore {
        let text = format!("{:>8.1} us for {} blocks on {} MiB", restore.us, restore.blocks, restore.mib);
        lines.push(word("restore", text));
    }
    if let Some(host) = host.map(|host| host.as_secs_f64()).filter(|host| off(*host, report.seconds)) {
        let text = format!("{:.1} s by the guest, {host:.1} s by the host", report.seconds);
        lines.push(word("CLOCKS", text));
    }
    lines
}

fn off(host: f64, guest: f64) -> bool {
    (host - guest).abs() > CLOCKS * host + 1.0
}
