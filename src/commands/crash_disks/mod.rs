//! `explode crash-disks`: applies the fault model to an event log from any source.

mod base;
mod input;
mod output_files;

use explode_runtime::base::{ExactCount, Exit};
use explode_runtime::crash::{
    self, CrashDisk, KeptPiece, LogDisk, LogDisksError, SampleLimits, SampleSeed,
};
use explode_runtime::writeset::LogContradiction;
use serde::Serialize;

use crate::cli::{CrashDisksArgs, Format};
use crate::output;
use input::{Input, Refusal};

/// The advice for too many pieces.
const SMALLER: &str = "; use --atom block, --atom request or a larger --block, or fewer --samples";
/// The advice for too many disks.
const FEWER: &str = "use a smaller --limit, fewer --samples, a larger --block, or --atom request";

/// Lists the crash disks of a log.
pub fn crash_disks(args: &CrashDisksArgs) -> Exit {
    match try_crash_disks(args) {
        Ok(()) => Exit::Clean,
        Err((exit, message)) => output::fail(exit, message),
    }
}

fn try_crash_disks(args: &CrashDisksArgs) -> Result<(), Refusal> {
    output_files::check_folder(args)?;
    let input = Input::read(args)?;
    let seed = SampleSeed { seed: args.seed, ..SampleSeed::default() };
    let limits = SampleLimits { limit: args.limit, samples: args.samples, seed };
    let rules = super::rules(&args.device);
    let (before, interval, after) = (input.before(), input.interval(), input.after());
    // Each image is written as soon as it exists, because all of them may need more memory than
    // there is.
    let mut written = Ok(());
    let mut new = |disk: &CrashDisk<'_>| {
        if args.write.is_some() && written.is_ok() {
            written = output_files::write(
                args,
                disk.identity(),
                &disk.image(),
                &input.base,
                input.devices,
            );
        }
    };
    let found =
        crash::crash_disks(input.base.clone(), before, interval, after, rules, &limits, &mut new);
    let found = found.map_err(|wrong| match wrong {
        LogDisksError::Event(LogContradiction { index, error }) => {
            let advice = if error.is_limit() { SMALLER } else { "" };
            input.refuse(index, format!("{error}{advice}"))
        }
        LogDisksError::TooMany { .. } => input.refuse_all(format!("{wrong}; {FEWER}")),
    })?;
    written?;
    found.disks.iter().for_each(|disk| print_disk(args.format, disk));
    let distinct = found.disks.len() as u64;
    let (crash_disks, left_out) = (ExactCount(found.crash_disks), ExactCount(found.left_out));
    match args.format {
        Format::Jsonl => print_line(&Line::Summary { crash_disks, distinct, left_out }),
        Format::Human => {
            output::line(&format!(
                "{crash_disks} crash disks, {distinct} distinct, {left_out} left out"
            ));
        }
    }
    Ok(())
}

/// The JSON lines (`docs/reference/json.md`).
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Disk { id: String, epochs: Vec<&'a str>, blocks: Vec<(u32, u64, u32)> },
    Summary { crash_disks: ExactCount, distinct: u64, left_out: ExactCount },
}

fn print_line(line: &Line<'_>) {
    output::line(&serde_json::to_string(line).expect("a line is plain data"));
}

fn print_disk(format: Format, disk: &LogDisk) {
    let id = disk.identity.to_string();
    let epochs: Vec<&str> = disk.epochs.iter().map(|epoch| epoch.as_str()).collect();
    match format {
        Format::Jsonl => {
            let block = |kept: &KeptPiece| (kept.dev, kept.sector, kept.version);
            print_line(&Line::Disk { id, epochs, blocks: disk.kept.iter().map(block).collect() });
        }
        Format::Human => {
            let block = |kept: &KeptPiece| format!("{}:{}v{}", kept.dev, kept.sector, kept.version);
            let blocks: Vec<String> = disk.kept.iter().map(block).collect();
            output::line(&format!("{id}  {:<20}  {}", epochs.join(","), blocks.join(" ")));
        }
    }
}
