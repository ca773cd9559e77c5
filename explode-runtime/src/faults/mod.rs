//! What may fail, as menus that the options of components choose from: blocks of a medium, functions of the kernel, and what the kernel
//! does on its own. The choices themselves are made while a unit runs.

pub mod background;
pub mod kernel;
pub mod media;
