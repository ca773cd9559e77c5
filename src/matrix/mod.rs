//! `explode matrix`: systems by checks, each cell a run of explode of its own (EX-7, EX-117,
//! `docs/guide/matrix.md`).
//!
//! | file | what |
//! | --- | --- |
//! | `grid.rs` | what is asked, as it stands in the folder |
//! | `asked.rs` | one cell as a stack file that anybody can run |
//! | `child.rs` | a run of it, in a process of its own |
//! | `cell.rs` | what came of it: pass, by design, bug, blind, not supported |
//! | `slow.rs` | what hung is tried again with longer |
//! | `layers.rs` | whose fault it is, when the layer is varied; what is safe where |
//! | `paper.rs` | Table 2 of the paper, to hold beside it |
//! | `text.rs`, `html.rs` | for people |

mod asked;
mod cell;
mod child;
mod grid;
mod html;
mod layers;
mod paper;
mod slow;
mod text;

pub use asked::CellFile;
pub use cell::{Cell, CellOutcome, ask};
pub use child::CellLimits;
pub use grid::{Column, Grid, OWN_NAMES, PAGE, Row};
pub use html::page;
pub use layers::{faults, safe};
pub use text::{cell_line, table};
