//! The recipes of `scripts/known-bugs`: each can be read, and each text that it replaces occurs once
//! in the source of the guest's kernel.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use common::guest;
use toml::Table;

const KEYS: [&str; 7] = ["name", "title", "filesystem", "fixed-in", "file", "function", "about"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn recipes() -> Vec<Table> {
    let folder = fs::read_dir(root().join("scripts/known-bugs")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut recipes = Vec::new();
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let recipe: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        assert_eq!(path.file_stem().unwrap().to_str().unwrap(), text(&recipe, "name"));
        recipes.push(recipe);
    }
    recipes
}

/// Returns the text of a key that must be there.
fn text<'a>(table: &'a Table, key: &str) -> &'a str {
    let text = table.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    assert!(!text.trim().is_empty(), "no {key} in {table}");
    text
}

fn edits(recipe: &Table) -> Vec<&Table> {
    let edits = recipe.get("edit").and_then(|value| value.as_array());
    edits.into_iter().flatten().map(|edit| edit.as_table().unwrap()).collect()
}

/// Returns the version of the package with the kernel's source.
fn version() -> String {
    let tools = fs::read_to_string(root().join("vm-images/kernel/tools.txt")).unwrap();
    let line = tools.lines().find(|line| line.starts_with("linux-source-")).unwrap();
    line.split_whitespace().nth(1).unwrap().to_owned()
}

/// Returns the newest tree in which `explode vm build` has built the guest's kernel. It holds the
/// sources.
fn kernel_tree() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    let kernels = fs::read_dir(cache.join("explode/kernel")).unwrap();
    let trees = kernels.map(|entry| entry.unwrap().path().join("linux"));
    let built = |tree: &PathBuf| fs::metadata(tree).unwrap().modified().unwrap();
    trees.filter(|tree| tree.is_dir()).max_by_key(built).expect("explode vm build keeps a tree")
}

#[test]
fn each_recipe_is_whole() {
    let recipes = recipes();
    let version = version();
    let of =
        |system: &str| recipes.iter().filter(|recipe| text(recipe, "filesystem") == system).count();
    assert!(recipes.len() >= 12);
    for (system, least) in [("btrfs", 4), ("ext4", 3), ("xfs", 2), ("f2fs", 2)] {
        assert!(of(system) >= least, "{system}: {}", of(system));
    }
    for recipe in &recipes {
        let known: BTreeSet<&str> = KEYS.into_iter().chain(["present", "edit"]).collect();
        assert!(recipe.keys().all(|key| known.contains(key.as_str())), "{recipe}");
        KEYS.iter().for_each(|key| assert!(!text(recipe, key).is_empty()));
        assert!(text(recipe, "about").lines().all(|line| line.len() <= 110), "{recipe}");
        for edit in edits(recipe) {
            let known = ["file", "find", "replace"];
            assert!(edit.keys().all(|key| known.contains(&key.as_str())), "{recipe}");
            assert_ne!(text(edit, "find"), edit["replace"].as_str().unwrap());
        }
        // A bug that is there already has nothing to edit.
        if edits(recipe).is_empty() {
            assert!(version.starts_with(text(recipe, "present")), "{recipe}");
        }
    }
}

#[test]
fn each_replaced_text_occurs_once_in_its_source() {
    if !guest::required() {
        return;
    }
    let tree = kernel_tree();
    let recipes = recipes();
    let of = |recipe: &Table, edit: &Table| {
        let file = edit.get("file").and_then(|value| value.as_str());
        file.unwrap_or_else(|| text(recipe, "file")).to_owned()
    };
    for recipe in &recipes {
        let read = |file: &str| fs::read_to_string(tree.join(file)).unwrap();
        assert!(read(text(recipe, "file")).contains(text(recipe, "function")), "{recipe}");
        let mut sources = BTreeMap::new();
        for edit in edits(recipe) {
            let file = of(recipe, edit);
            let source: &mut String = sources.entry(file.clone()).or_insert_with(|| read(&file));
            let find = text(edit, "find");
            assert_eq!(source.matches(find).count(), 1, "{}: {find}", text(recipe, "name"));
            *source = source.replace(find, edit["replace"].as_str().unwrap());
        }
    }
}
