use super::*;
use crate::{Kind, Project};

const SPECS: &[KeySpec] = &[
    KeySpec {
        path: "core.model",
        kind: Kind::Text,
        project: Project::Yes,
    },
    KeySpec {
        path: "core.max_turns",
        kind: Kind::Count { min: 1, max: 9 },
        project: Project::Yes,
    },
    KeySpec {
        path: "deny",
        kind: Kind::List,
        project: Project::Yes,
    },
    KeySpec {
        path: "providers.*.base_url",
        kind: Kind::Text,
        project: Project::Yes,
    },
];

fn check(before: &str, key: &str, text: &str, after: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, before).unwrap();
    set_in_file(&path, "config.toml", SPECS, key, text).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

fn check_refused(before: &str, key: &str, text: &str, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, before).unwrap();
    let error = set_in_file(&path, "config.toml", SPECS, key, text).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn one_value_changes_and_everything_else_stays() {
    check("", "core.model", "big", "[core]\nmodel = \"big\"\n");
    check(
        "# top\n\n[core] # here\n# why\nmodel = 'a'   # because\nmax_turns = 3\n",
        "core.model",
        "b",
        "# top\n\n[core] # here\n# why\nmodel = \"b\"   # because\nmax_turns = 3\n",
    );
    check(
        "core.max_turns = 3\n",
        "core.model",
        "b",
        "core.max_turns = 3\ncore.model = \"b\"\n",
    );
    check(
        "core = { model = 'a' }\n",
        "core.model",
        "b",
        "core = { model = \"b\" }\n",
    );
    check(
        "\u{feff}deny = []\n",
        "deny",
        "x,y",
        "\u{feff}deny = [\"x\", \"y\"]\n",
    );
    check(
        "deny = []\n",
        "providers.local.base_url",
        "http://x",
        "deny = []\n\n[providers.local]\nbase_url = \"http://x\"\n",
    );
}

#[test]
fn nothing_is_written_that_would_not_load() {
    check_refused(
        "[core]\n",
        "core.max_turns",
        "10",
        "config.toml: `core.max_turns` is `10`, expected a whole number from 1 to 9",
    );
    check_refused(
        "nonsense = 1\n",
        "core.model",
        "x",
        "config.toml:1: unknown key `nonsense`\nhint: there are core, deny, providers",
    );
    check_refused(
        "core = 3\n",
        "core.model",
        "x",
        "config.toml: `core` is not a table, so `core.model` cannot be set",
    );
}

#[test]
fn a_key_is_removed_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let unset = || unset_in_file(&path, "config.toml", SPECS, "core.model").unwrap();
    assert!(!unset());
    fs::write(&path, "[core]\nmodel = 'a' # x\n# y\nmax_turns = 2\n").unwrap();
    assert!(unset());
    assert!(!unset());
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "[core]\n# y\nmax_turns = 2\n"
    );
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_new_file_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("dotfiles.toml");
    let link = folder.path().join("config.toml");
    fs::write(&real, "").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    set_in_file(&link, "config.toml", SPECS, "core.model", "x").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        fs::read_to_string(&real).unwrap(),
        "[core]\nmodel = \"x\"\n"
    );
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&real), 0o640);
    let new = folder.path().join("home/config.toml");
    set_in_file(&new, "config.toml", SPECS, "core.model", "x").unwrap();
    assert_eq!((mode(&new), mode(new.parent().unwrap())), (0o600, 0o700));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_set_is_read_back(text in "\\PC{0,20}", before in "(core\\.max_turns = 3\n|# note\n|\\[core\\]\n)?") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, &before).unwrap();
        set_in_file(&path, "config.toml", SPECS, "core.model", &text).unwrap();
        let layer = Layer::read(&path, "config.toml", Trust::Full).unwrap();
        let merged = merge(SPECS, &[layer]).unwrap();
        proptest::prop_assert_eq!(merged.text("core.model"), Some(text.as_str()));
    }

    #[test]
    fn no_file_makes_reading_fail_without_its_place(text in "([a-z.\\[\\]={}\"' \n,0-9é]|core|model|deny){0,40}") {
        match Layer::parse(Source::File("c.toml".to_owned()), Trust::Full, &text) {
            Err(error) => proptest::prop_assert!(error.to_string().starts_with("c.toml:")),
            Ok(layer) => if let Err(error) = merge(SPECS, &[layer]) {
                proptest::prop_assert!(error.problems.iter().all(|problem| problem.starts_with("c.toml:")));
            },
        }
    }
}

#[test]
fn a_file_keeps_the_line_ends_that_it_had() {
    check(
        "# top\r\n[core]\r\nmodel = 'a'\r\n",
        "core.max_turns",
        "3",
        "# top\r\n[core]\r\nmodel = 'a'\r\nmax_turns = 3\r\n",
    );
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("config.toml");
    std::os::unix::fs::symlink("real/config.toml", &link).unwrap();
    set_in_file(&link, "config.toml", SPECS, "core.model", "b").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        fs::read_to_string(folder.path().join("real/config.toml")).unwrap(),
        "[core]\nmodel = \"b\"\n"
    );
}
