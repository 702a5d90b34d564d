#![expect(
    clippy::disallowed_methods,
    reason = "the files are those of a temporary folder"
)]

use std::{collections::BTreeMap, fs};

use super::*;

fn surroundings(root: &Path, cwd: &str) -> Surroundings {
    Surroundings {
        cwd: root.join(cwd),
        env: BTreeMap::new(),
        home: Some(root.join("home")),
        exe: PathBuf::from("/bin/mcpx"),
    }
}

fn place(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("home/work/deep")).unwrap();
    for file in files {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "{}").unwrap();
    }
    (folder, root)
}

fn found_in(root: &Path, surroundings: &Surroundings, at: &Where) -> Vec<(String, FileKind)> {
    search(surroundings, at)
        .unwrap()
        .into_iter()
        .filter_map(|file| {
            // What the machine itself has is not ours.
            let path = file.path.strip_prefix(root).ok()?.to_str()?.to_owned();
            Some((path, file.kind))
        })
        .collect()
}

#[test]
fn files_are_found_nearest_first_and_each_once() {
    use FileKind::{Project, User};
    let (_folder, root) = place(&[
        "home/work/deep/.mcp.json",
        "home/work/.mcp.json",
        "home/work/.mcpx/config.json",
        "home/work/.mcpx.json",
        "home/work/.config/mcpx/config.json",
        "home/.mcpx.json",
        "home/.mcp.json",
        "home/.config/mcpx/config.json",
        ".mcp.json",
    ]);
    let found = found_in(
        &root,
        &surroundings(&root, "home/work/deep"),
        &Where::default(),
    );
    let expected = [
        ("home/work/deep/.mcp.json", Project),
        ("home/work/.config/mcpx/config.json", Project),
        ("home/work/.mcpx.json", Project),
        ("home/work/.mcpx/config.json", Project),
        ("home/work/.mcp.json", Project),
        ("home/.config/mcpx/config.json", User),
        ("home/.mcpx.json", User),
        ("home/.mcp.json", User),
        (".mcp.json", Project),
    ];
    let expected: Vec<(String, FileKind)> = expected
        .into_iter()
        .map(|(path, kind)| (path.to_owned(), kind))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_configuration_folder_of_the_person_can_be_elsewhere() {
    let (_folder, root) = place(&["conf/mcpx/config.json", "home/.config/mcpx/config.json"]);
    let mut here = surroundings(&root, "home/work");
    here.env.insert(
        "XDG_CONFIG_HOME".to_owned(),
        root.join("conf").to_string_lossy().into_owned(),
    );
    let found = found_in(&root, &here, &Where::default());
    assert_eq!(found[1].0, "conf/mcpx/config.json");
    assert!(found.iter().all(|(_, kind)| *kind == FileKind::User));
}

#[test]
fn listed_files_and_folders_take_the_place_of_the_walk() {
    let (_folder, root) = place(&["home/work/.mcp.json", "a.json", "b/.mcp.json"]);
    let at = Where {
        only: None,
        listed: vec![root.join("a.json"), root.join("b"), root.join("gone")],
    };
    let found = found_in(&root, &surroundings(&root, "home/work"), &at);
    assert_eq!(
        found,
        [
            ("a.json".to_owned(), FileKind::User),
            ("b/.mcp.json".to_owned(), FileKind::User)
        ]
    );
}

#[test]
fn relative_paths_in_a_file_are_those_of_its_level() {
    let (_folder, root) = place(&["home/work/.mcpx/config.json"]);
    let found = search(&surroundings(&root, "home/work"), &Where::default()).unwrap();
    assert_eq!(found[0].folder, root.join("home/work"));
}

#[test]
fn what_is_written_goes_to_a_file_of_ours() {
    let (_folder, root) = place(&["home/work/.mcp.json", "home/.mcpx.json"]);
    let mut here = surroundings(&root, "home/work/deep");
    assert_eq!(project_file(&here), root.join("home/work/deep/.mcpx.json"));
    fs::write(root.join("home/work/.mcpx.json"), "{}").unwrap();
    assert_eq!(project_file(&here), root.join("home/work/.mcpx.json"));
    assert_eq!(
        user_file(&here),
        Some(root.join("home/.config/mcpx/config.json"))
    );
    here.home = None;
    assert_eq!(user_file(&here), None);
}
