//! `explode matrix`: systems by checks, each cell a run of explode of its own (EX-7, EX-117,
//! `docs/guide/matrix.md`).
//!
//! | file | what |
//! | --- | --- |
//! | `grid.rs` | what is asked, as it stands in the folder |
//! | `cell_file.rs` | one cell as a stack file that anybody can run |
//! | `cell_run.rs` | a run of it, in a process of its own |
//! | `cell.rs` | its result: pass, by design, bug, inconclusive, not supported |
//! | `hang_recheck.rs` | what hung is tried again with longer |
//! | `attribution.rs` | whose fault it is, when the layer is varied; what is safe where |
//! | `paper.rs` | Table 2 of the paper, to hold beside it |
//! | `text.rs`, `html.rs` | for people |

mod attribution;
mod cell;
mod cell_file;
mod cell_run;
mod grid;
mod hang_recheck;
mod html;
mod paper;
mod text;

pub use attribution::{faults, safe};
pub use cell::{Cell, CellOutcome, ask};
pub use cell_file::CellFile;
pub use cell_run::CellLimits;
pub use grid::{Column, Grid, OWN_NAMES, PAGE, Row};
pub use html::page;
pub use text::{cell_line, table};
