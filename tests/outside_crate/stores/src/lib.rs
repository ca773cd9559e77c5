//! What the crash tests of stores have in common.

use explode_posix::{CrashTest, FileModel};

/// The most crash disks of one moment that are checked. Crashes during recovery are left out.
pub const SAMPLE: u64 = 100;

/// The models of the page of results.
const MODELS: [FileModel; 3] = [FileModel::Posix, FileModel::Ext4, FileModel::Xfs];

/// Runs a test under each of the models and returns its result: the counts, or the error that a finding
/// shows. Prints both for the page of results.
pub fn under_each_model(store: &str, test: impl Fn(FileModel) -> CrashTest) -> Vec<String> {
    let result = |model: FileModel| {
        let bounded = test(model).with(|settings| {
            (settings.limit, settings.samples) = (SAMPLE, SAMPLE);
            settings.crash_depth = 0;
        });
        let result = match bounded.outcome() {
            Ok(summary) => format!(
                "{} crash disks, {} checked, {} left out, silent",
                summary.crash_disks,
                summary.disks_checked(),
                summary.disks_left_out()
            ),
            Err(text) => {
                let found = text.lines().find_map(|line| line.trim_start().strip_prefix("FAIL "));
                found.map_or(text.clone(), str::to_owned)
            }
        };
        println!("RESULT {store} | {model} | {result}");
        result
    };
    MODELS.map(result).into()
}
