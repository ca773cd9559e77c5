//! Finds circles: files that use each other, and crates that depend on each other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::uses::Use;
use crate::workspace::{Crate, Workspace};

/// The dependencies of each node, each with a text that names the place.
pub type Graph<'w> = BTreeMap<&'w str, BTreeMap<&'w str, String>>;

/// A set of nodes that all depend on each other, directly or not.
#[derive(Debug)]
pub struct Circle {
    /// The nodes, in alphabetical order.
    pub nodes: Vec<String>,
    /// A shortest path around the circle, one line per step.
    pub way: Vec<String>,
}

/// Returns the files of a crate with their uses of each other.
pub fn files_of<'w>(workspace: &'w Workspace<'_>, uses: &'w [Use<'_>], of: usize) -> Graph<'w> {
    let mut graph = Graph::new();
    for a_use in uses.iter().filter(|a_use| workspace.modules[a_use.from].of == of) {
        let from = workspace.modules[a_use.from].file.as_str();
        for to in &a_use.files {
            let place = || format!("{from}:{}: {}, defined in {to}", a_use.line, a_use.text);
            graph.entry(from).or_default().entry(to).or_insert_with(place);
        }
    }
    graph
}

/// Returns the crates with their dependencies.
pub fn crates_of<'w>(workspace: &'w Workspace<'_>) -> Graph<'w> {
    let name = |name: &String| workspace.crates.iter().find(|of| of.name == *name);
    let needs = |of: &'w Crate| {
        let others = of.depends.iter().filter_map(name);
        others.map(|other| (other.name.as_str(), format!("{} depends on {}", of.name, other.name)))
    };
    workspace.crates.iter().map(|of| (of.name.as_str(), needs(of).collect())).collect()
}

/// Returns the largest sets of nodes that depend on each other.
pub fn circles(graph: &Graph<'_>) -> Vec<Circle> {
    let reached: BTreeMap<_, _> = graph.keys().map(|node| (*node, reached(graph, node))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for (node, others) in &reached {
        if !others.contains(node) || seen.contains(node) {
            continue;
        }
        let back = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(node));
        let nodes: Vec<&str> = others.iter().filter(back).copied().collect();
        seen.extend(nodes.iter().copied());
        let way = way_around(graph, node);
        circles.push(Circle { nodes: nodes.into_iter().map(str::to_owned).collect(), way });
    }
    circles
}

fn reached<'w>(graph: &Graph<'w>, from: &str) -> BTreeSet<&'w str> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(node) = waiting.pop() {
        for next in graph.get(node).into_iter().flatten().map(|(next, _)| *next) {
            if reached.insert(next) {
                waiting.push(next);
            }
        }
    }
    reached
}

/// Returns the steps of a shortest path from a node back to it.
fn way_around(graph: &Graph<'_>, start: &str) -> Vec<String> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front() {
        for next in graph.get(node).into_iter().flatten().map(|(next, _)| *next) {
            if !came_from.contains_key(next) {
                came_from.insert(next, node);
                waiting.push_back(next);
            }
        }
    }
    let mut way = Vec::new();
    let mut node = start;
    loop {
        let before = came_from[node];
        way.push(graph[before][node].clone());
        node = before;
        if node == start {
            way.reverse();
            return way;
        }
    }
}
