//! The pieces that a crash disk has kept, and their names.

use serde::{Deserialize, Serialize};

/// A piece that a crash disk has kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPiece {
    /// The device.
    pub dev: u32,
    /// The first sector of the piece.
    pub sector: u64,
    /// The number of the version in its range. 1 is the oldest pending piece.
    pub version: u32,
}

/// The name of a kept piece: device, first sector and version. Version 1 is the oldest pending
/// piece of its range.
pub type PieceName = (u32, u64, u32);
