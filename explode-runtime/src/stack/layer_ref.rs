//! What a stack promises, by the profiles of its layers.

use super::facts::Facts;
use crate::verdict::Profile;

/// A layer, and the numbers of those that it stands on, which come before it.
pub type LayerRef<'s> = (&'s Facts, &'s [usize]);

/// The profile of the topmost layer that has one. If that one keeps no more than what stands below
/// it, what is excluded there is excluded; a layer without a profile excludes nothing.
pub fn promised(layers: &[LayerRef<'_>]) -> Option<Profile> {
    (0..layers.len()).rev().find_map(|at| of_layer(layers, at))
}

/// Of a layer that has a profile: that, or that of what stands below it, too.
fn of_layer(layers: &[LayerRef<'_>], at: usize) -> Option<Profile> {
    let (facts, children) = layers[at];
    let own = facts.promises.clone()?;
    let child = children.first().filter(|_| facts.promises_as_below);
    Some(match child.and_then(|child| from_layer(layers, *child)) {
        Some(below) => own.on(&below),
        None => own,
    })
}

/// Of a layer, or of the first one below it that has a profile.
fn from_layer(layers: &[LayerRef<'_>], at: usize) -> Option<Profile> {
    of_layer(layers, at).or_else(|| from_layer(layers, *layers[at].1.first()?))
}
