//! Debian's packages: the recipes that name them, their versions, and the unpacking.

mod archive;
mod closure;
pub(crate) mod recipes;

pub(crate) use archive::{Package, candidates, have_lists, unpack};
pub(crate) use closure::closure;
