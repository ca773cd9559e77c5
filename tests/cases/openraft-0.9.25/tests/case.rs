//! The version with the mend of issue 1802 of openraft.

#[path = "../../openraft/mod.rs"]
mod openraft_case;

#[test]
fn no_write_is_acknowledged_without_a_quorum() {
    openraft_case::clean("openraft 0.9.25");
}
