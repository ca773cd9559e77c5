//! Debian's packages: the recipes that name them, their versions, and the unpacking.

mod archive;
pub(crate) mod recipes;

pub(crate) use archive::{Package, candidates, have_lists, unpack};
