//! States of models of simulated files (`docs/model/file-models.md`).

use serde_json::{Value, json};

use crate::summary;

/// Returns the summary of all workloads of two calls on empty files, which are those of one model
/// and are judged by another.
fn workloads(files: &str, model: &str, findings: u64, more: &str) -> Value {
    let args = format!(
        "fs-workloads --depth 3 --set simfiles.model={files} --set fs-workloads.model={model} \
         --set fs-workloads.start=empty {more}"
    );
    let summary = summary(i32::from(findings > 0), &args);
    assert_eq!(summary["findings"], json!(findings), "{files} judged as {model}");
    summary
}

/// Files show each state of their own model, and no other.
#[test]
fn files_show_each_state_of_their_model() {
    for (model, states) in [("posix", 740), ("ext4", 593), ("xfs", 561), ("btrfs", 565)] {
        for jobs in 1..=2 {
            let more = format!("--set fs-workloads.seen=true --jobs {jobs}");
            let summary = workloads(model, model, 0, &more);
            let counts = [("workloads", 260), ("possible", states), ("seen", states)];
            assert_eq!(summary["tallies"], json!([{"name": "states", "tallies": counts}]));
            assert_eq!(summary["complete"], json!(true));
        }
    }
}

/// posix has all states of the others. The order of names is the same under ext4 and XFS.
#[test]
fn models_differ_by_their_states() {
    for model in ["ext4", "xfs", "btrfs"] {
        workloads(model, "posix", 0, "");
        workloads("posix", model, 1, "");
    }
    workloads("xfs", "ext4", 0, "");
    for (files, model) in [("ext4", "xfs"), ("ext4", "btrfs"), ("btrfs", "ext4")] {
        workloads(files, model, 1, "");
    }
}
