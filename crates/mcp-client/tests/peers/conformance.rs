//! The client under the official conformance suite.

use testkit::mcp::conformance::{self, Subject};

use crate::setup::example;

fn nothing_new(revision: &str) {
    let client = example("conformance_client");
    let report = conformance::run(&Subject::Client(&client.program), revision);
    assert!(report.contains("required:"), "{report}");
}

#[test]
fn the_conformance_suite_finds_nothing_new_at_2025_11_25() {
    nothing_new("2025-11-25");
}

#[test]
fn the_conformance_suite_finds_nothing_new_at_2026_07_28() {
    nothing_new("2026-07-28");
}
