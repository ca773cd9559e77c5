//! The output of measurements.

use crate::bench::{BenchReport, EkmCost, RestoreCost};
use explode_cluster::rates::{HandRates, WalkRates};
use explode_runtime::plan::Plan;
use explode_runtime::report::status_line;
use serde_json::{Value, json};

use super::BenchMeasured;
use super::plans::Variant;

/// The share by which the clocks of guest and host may differ, besides one second, before a
/// warning.
const CLOCKS: f64 = 0.02;

/// Returns a measurement as one JSON object (docs/reference/json.md).
pub fn json(measured: &BenchMeasured<'_>) -> Value {
    match measured {
        BenchMeasured::Checks(variant, report, host_seconds) => {
            let mut line = json!(report);
            line["type"] = json!("bench");
            line["set"] = json!(variant.set);
            line["host_seconds"] = json!(host_seconds);
            line
        }
        BenchMeasured::Walks(variant, rates) => walks_json(variant, rates),
        BenchMeasured::Restore(restore) => {
            let mut line = json!(restore);
            line["type"] = json!("restore");
            line
        }
        BenchMeasured::Tracing(tracing) => {
            let mut line = json!(tracing);
            line["type"] = json!("tracing");
            line
        }
    }
}

/// Returns the lines of the human format.
pub fn text(measured: &BenchMeasured<'_>) -> Vec<String> {
    match measured {
        BenchMeasured::Checks(variant, report, host_seconds) => {
            checks(variant, report, *host_seconds)
        }
        BenchMeasured::Walks(variant, rates) => walks(variant, rates),
        BenchMeasured::Restore(RestoreCost { mib, blocks, restore_us }) => {
            let text = format!("{restore_us:>8.1} us for {blocks} blocks on {mib} MiB");
            vec![status_line("restore", &text)]
        }
        BenchMeasured::Tracing(tracing) => self::tracing(tracing),
    }
}

fn walks_json(variant: &Variant, rates: &WalkRates) -> Value {
    let WalkRates { walks, rounds, steps, choices, crashes, replies, crash_disks, .. } = *rates;
    let WalkRates { step_ns, by_hand, .. } = *rates;
    json!({
        "type": "walks",
        "target": variant.plan.target,
        "strategy": variant.plan.settings.strategy.to_string(),
        "walks": walks,
        "rounds": rounds,
        "steps": steps,
        "choices": choices,
        "crashes": crashes,
        "replies": replies,
        "crash_disks": crash_disks,
        "step_ns": step_ns,
        "by_hand_ns": by_hand.map(|by_hand| by_hand.step_ns),
        "by_hand_crashes": by_hand.map(|by_hand| by_hand.crashes),
        "by_hand_replies": by_hand.map(|by_hand| by_hand.replies),
        "share": by_hand.map(|by_hand| by_hand.share),
    })
}

fn walks(variant: &Variant, rates: &WalkRates) -> Vec<String> {
    let WalkRates { walks, rounds, steps, choices, crashes, replies, crash_disks, .. } = *rates;
    let WalkRates { step_ns, by_hand, .. } = *rates;
    let version = env!("CARGO_PKG_VERSION");
    let Plan { target, settings, .. } = &variant.plan;
    let a_second = 1e9 / step_ns;
    let rate = |ns: f64| format!("{:>10.0} steps a second, {ns:.0} ns each", 1e9 / ns);
    let by_walk =
        |crashes: f64, replies: f64| format!("{crashes:.1} crashes, {replies:.1} replies");
    let mut lines = vec![
        status_line("Explode", &format!("{version}  bench {target} by {}", settings.strategy)),
        status_line("Walks", &format!("{walks}, of {steps:.0} steps each; {rounds} rounds")),
        status_line(
            "explode",
            &format!("{}; a walk has {}", rate(step_ns), by_walk(crashes, replies)),
        ),
        status_line(
            "",
            &format!(
                "{:>10.0} choices, {:.0} walks, {:.0} crash disks a second",
                choices / steps * a_second,
                a_second / steps,
                crash_disks / steps * a_second
            ),
        ),
    ];
    match by_hand {
        Some(HandRates { step_ns, crashes, replies, share }) => {
            let text = format!("{}; a walk has {}", rate(step_ns), by_walk(crashes, replies));
            lines.push(status_line("by hand", &text));
            lines.push(status_line("share", &format!("{share:>10.3}")));
        }
        None => lines.push(status_line("by hand", "no loop to compare with is known")),
    }
    lines
}

fn tracing(tracing: &EkmCost) -> Vec<String> {
    let EkmCost { calls, points, rounds, off_us, on_us, probed_us, armed_us, read_us } = tracing;
    let more = |us: f64| format!("{us:>8.1} us, {:+.1} percent", (us / off_us - 1.0) * 100.0);
    vec![
        status_line(
            "untraced",
            &format!("{off_us:>8.1} us a call, {calls} on names of ext4; {rounds} rounds"),
        ),
        status_line("traced", &more(*on_us)),
        status_line("probed", &more(*probed_us)),
        status_line(
            "armed",
            &format!("{}; {points} choices, {read_us:.1} us to read one", more(*armed_us)),
        ),
    ]
}

fn checks(variant: &Variant, report: &BenchReport, host_seconds: Option<f64>) -> Vec<String> {
    let rate = |us: f64| format!("{:>8.1} disks a second, {:.3} ms each", 1e6 / us, us / 1000.0);
    let BenchReport { target, mode, disks, violations, rounds, .. } = report;
    let version = env!("CARGO_PKG_VERSION");
    let set: String = variant.set.iter().map(|setting| format!("  {setting}")).collect();
    let mut lines = vec![
        status_line("Explode", &format!("{version}  bench {target} in {}{set}", mode.as_str())),
        status_line(
            "Stack",
            &format!("{} < {}", variant.plan.stack.names().join(" < "), variant.plan.checker),
        ),
        status_line("Disks", &format!("{disks}, {violations} with an error; {rounds} rounds")),
        status_line("explode", &rate(report.explode_us)),
    ];
    match (report.floor_us, report.blocks, report.share) {
        (Some(floor), Some(blocks), Some(share)) => {
            lines.push(status_line(
                "floor",
                &format!("{}; {blocks:.1} blocks restored", rate(floor)),
            ));
            lines.push(status_line("share", &format!("{share:>8.3}")));
        }
        _ => lines.push(status_line(
            "floor",
            "no component of this stack has a plain loop to compare with",
        )),
    }
    let BenchReport { recovery_us, recovery_disks, recovery_crash_crash_disks, .. } = report;
    let more = format!(
        "; {recovery_disks}, and {recovery_crash_crash_disks} of crashes during their recovery"
    );
    lines.push(status_line("crash-depth", &(rate(*recovery_us) + &more)));
    if let Some(host) =
        host_seconds.filter(|host| (host - report.seconds).abs() > CLOCKS * host + 1.0)
    {
        let text = format!(
            "{:.1} s by the guest, {host:.1} s by the host: do not trust these",
            report.seconds
        );
        lines.push(status_line("CLOCKS", &text));
    }
    lines
}
