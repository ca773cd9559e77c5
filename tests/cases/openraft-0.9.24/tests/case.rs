//! A write is acknowledged without a quorum (issue 1802 of openraft).

#[path = "../../openraft/mod.rs"]
mod openraft_case;

#[test]
fn a_write_without_a_quorum_is_found_with_each_of_20_seeds() {
    openraft_case::found("openraft 0.9.24");
}
