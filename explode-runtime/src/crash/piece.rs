//! The pieces that a crash disk has kept, and their names.

use serde::{Deserialize, Serialize};

/// A piece that a crash disk has kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPiece {
    /// The device.
    pub dev: u32,
    /// The first sector of the piece.
    pub sector: u64,
    /// Which version of its range: 1 is the oldest pending one.
    pub version: u32,
}

/// A piece that is kept: device, first sector, version; 1 is the oldest pending one of its range.
pub type PieceId = (u32, u64, u32);
