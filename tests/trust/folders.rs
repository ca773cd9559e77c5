//! Folders of runs and of matrices, which also contain commands.

use std::fs;

use serde_json::json;

use crate::Desk;

#[test]
fn only_a_users_own_run_is_resumed_without_trust() {
    let (desk, _) = Desk::with_finding();
    desk.does("me", "run --resume run", 1);
    desk.refuses("stranger", "run --resume run");
    desk.does("stranger", "run --resume run --trust", 1);
    desk.refuses("stranger", "run --resume run");

    let tag = desk.path().join("run/tag");
    fs::write(&tag, "0".repeat(64)).unwrap();
    desk.refuses("me", "run --resume run");
    fs::remove_file(&tag).unwrap();
    desk.refuses("me", "run --resume run");
    desk.does("me", "run --resume run --trust", 1);
}

/// The tag of one run does not match another.
#[test]
fn a_tag_does_not_hold_for_another_run() {
    let (desk, _) = Desk::with_finding();
    desk.stack("sh = \"touch CANARY; touch CANARY\"", "echo it is gone; exit 1");
    desk.explode("stranger", "run test.toml --out other").expect(1);
    desk.clean();
    fs::copy(desk.path().join("run/tag"), desk.path().join("other/tag")).unwrap();
    desk.refuses("me", "run --resume other");
}

#[test]
fn only_a_users_own_matrix_is_resumed_without_trust() {
    let desk = Desk::new();
    desk.stack("sh = \"true\"", "true");
    // The row has commands. The check cannot run on it, so the cell is broken.
    desk.explode("me", "matrix test.toml --check sync --out m").expect(4);
    let grid = "m/grid.json";
    assert_eq!(desk.json(grid)["tag"].as_str().map(str::len), Some(64));
    desk.explode("me", "matrix --resume m").expect(4);
    desk.refuses("stranger", "matrix --resume m");
    desk.explode("stranger", "matrix --resume m --trust").expect(4);
    desk.edited(grid, grid, |grid| grid["seed"] = json!(1));
    desk.refuses("me", "matrix --resume m");
    desk.edited(grid, grid, |grid| drop(grid.as_object_mut().unwrap().remove("tag")));
    desk.refuses("me", "matrix --resume m");

    for name in ["../x", "/x", "a/b", ".", "a\nb"] {
        desk.edited(grid, grid, |grid| grid["systems"][0]["name"] = json!(name));
        desk.explode("me", "matrix --resume m --trust")
            .refused(&["grid.json", "cannot be the name of a folder"]);
    }
}

#[test]
fn trust_is_refused_for_new_runs() {
    let desk = Desk::new();
    desk.stack("sh = \"true\"", "true");
    desk.explode("me", "run test.toml --trust").refused(&["cannot be used with", "--trust"]);
    desk.explode("me", "matrix test.toml --trust").refused(&["cannot be used with", "--trust"]);
    desk.explode("me", "matrix --trust").refused(&["--resume"]);
    let text = fs::read_to_string(desk.path().join("test.toml")).unwrap();
    fs::write(desk.path().join("test.toml"), text.replace("depth = 1", "depth = 1\ntrust = true"))
        .unwrap();
    desk.explode("me", "run test.toml").refused(&["test.toml:3", "--trust"]);
}
