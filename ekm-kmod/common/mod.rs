// SPDX-License-Identifier: GPL-2.0
//! What both modules need and the `kernel` crate of 6.12 has not: control devices, memory that user
//! space maps, bios.
//!
//! Each module includes this folder by path, next to its own `bindings` (made by bindgen of
//! `kernel.h`) and `wire` (the ABI).

pub(crate) mod area;
pub(crate) mod bio;
pub(crate) mod call;
pub(crate) mod control;
pub(crate) mod mix;
