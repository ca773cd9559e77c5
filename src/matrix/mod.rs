//! `explode matrix`: systems by checks. Each cell is a separate run of explode (EX-7, EX-117,
//! `docs/guide/matrix.md`).
//!
//! | file | what |
//! | --- | --- |
//! | `row.rs` | a row |
//! | `family.rs`, `families/` | rows that are ready: arrays of Linux |
//! | `grid.rs` | rows, columns and limits, and their file |
//! | `cell_file.rs` | one cell as a stack file, which users can run |
//! | `cell_run.rs` | a run of it in another process |
//! | `shares.rs` | the time and the workers of each cell |
//! | `cell.rs` | the result: pass, by design, bug, inconclusive, not supported |
//! | `explain.rs` | the promises that a cell tries, and those that no cell tries |
//! | `hang_recheck.rs` | the second try of hangs with a longer deadline |
//! | `left_out.rs` | a cell with a bug, run without one of its layers |
//! | `attribution.rs` | the layer that a finding accuses; the safe ways of a system |
//! | `paper.rs` | Table 2 of the paper, for comparison |
//! | `text.rs`, `html.rs` | the human formats |

mod attribution;
mod cell;
mod cell_file;
mod cell_run;
mod explain;
mod family;
mod grid;
mod hang_recheck;
mod html;
mod left_out;
mod paper;
mod row;
mod shares;
mod text;

pub use attribution::{faults, safe};
pub use cell::{Cell, CellOutcome, run_cell};
pub use cell_file::CellFile;
pub use cell_run::CellLimits;
pub use explain::{explain, not_tried};
pub use family::{families, rows};
pub use grid::{Column, Grid, OWN_NAMES, PAGE};
pub use html::page;
pub use row::Row;
pub use shares::{Share, ShareLimits, Shares};
pub use text::{Conclusions, cell_line, table};
