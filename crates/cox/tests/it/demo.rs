//! The demo, with the real tools.

use crate::harness::Cox;

#[test]
fn the_demo_repairs_its_repository_and_says_what_to_do_next() {
    let cox = Cox::new();
    let folder = cox.home.path().join("tmp");
    std::fs::create_dir(&folder).unwrap();
    let cox = cox.variable("TMPDIR", folder.to_str().unwrap());
    let ran = cox.run(&["demo"]);
    assert_eq!(ran.code, 0, "{ran}");
    for words in [
        "replies are scripted",
        "* bash ",
        "* edit ",
        "export ANTHROPIC_API_KEY",
        "--provider local",
    ] {
        assert!(ran.stderr.contains(words), "{words} is missing:\n{ran}");
    }
    assert!(ran.stdout.contains("quantity >= BULK_FROM"), "{ran}");
}
