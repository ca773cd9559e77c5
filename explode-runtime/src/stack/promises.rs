//! The promises of a stack, computed from the profiles of its layers.

use super::facts::Facts;
use crate::verdict::Profile;

/// A layer, and the numbers of the layers directly below it, which precede it.
pub type LayerRef<'s> = (&'s Facts, &'s [usize]);

/// Returns the profile of the topmost layer that has one. If that layer keeps its promises only as
/// far as those below, the promises that they exclude are excluded. A layer without a profile
/// excludes nothing.
pub fn promised(layers: &[LayerRef<'_>]) -> Option<Profile> {
    (0..layers.len()).rev().find_map(|at| of_layer(layers, at))
}

/// Returns the profile of a layer, restricted by the profiles below it if it asks for that. `None`
/// if the layer has no profile.
fn of_layer(layers: &[LayerRef<'_>], at: usize) -> Option<Profile> {
    let (facts, children) = layers[at];
    let own = facts.promises.clone()?;
    let child = children.first().filter(|_| facts.promises_as_below);
    Some(match child.and_then(|child| from_layer(layers, *child)) {
        Some(below) => own.on(&below),
        None => own,
    })
}

/// Returns the profile of a layer, or of the first layer below it that has one.
fn from_layer(layers: &[LayerRef<'_>], at: usize) -> Option<Profile> {
    of_layer(layers, at).or_else(|| from_layer(layers, *layers[at].1.first()?))
}
