use std::{
    fs,
    path::{Path, PathBuf},
};

use mcpx_api::Caller;
use mcpx_config::Scope;
use testkit::{TempHome, mcp::CommandLine};

use super::{
    Key, key_of,
    repository::{Found, Repository, find},
};

/// A temporary folder without symbolic links in its path.
fn home() -> (TempHome, PathBuf) {
    let home = TempHome::new();
    let path = home.path().canonicalize().unwrap();
    (home, path)
}

fn git(folder: &Path, args: &[&str]) -> String {
    let output = CommandLine::new("git", args)
        .to_command()
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.com")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// What git itself says of a folder.
fn as_git_says(folder: &Path) -> Found {
    let common = folder.join(git(folder, &["rev-parse", "--git-common-dir"]));
    let is_inside = git(folder, &["rev-parse", "--is-inside-work-tree"]) == "true";
    Found::Repository(Repository {
        common: common.canonicalize().unwrap(),
        worktree: is_inside.then(|| {
            PathBuf::from(git(folder, &["rev-parse", "--show-toplevel"]))
                .canonicalize()
                .unwrap()
        }),
    })
}

fn in_folder(folder: &Path) -> Caller {
    Caller {
        cwd: Some(folder.to_owned()),
        ..Caller::default()
    }
}

#[test]
fn repositories_of_every_layout_are_found_as_git_finds_them() {
    let (temporary, home) = home();
    let main = home.join("main");
    fs::create_dir_all(main.join("src/deep")).unwrap();
    git(&main, &["init", "--quiet"]);
    git(&main, &["commit", "--quiet", "--allow-empty", "-m", "a"]);
    git(
        &main,
        &["worktree", "add", "--quiet", "../linked", "-b", "b"],
    );
    fs::create_dir(home.join("linked/src")).unwrap();
    let main_text = main.to_string_lossy().into_owned();
    git(&home, &["init", "--quiet", "outer"]);
    let outer = home.join("outer");
    let file = "protocol.file.allow=always";
    git(
        &outer,
        &["-c", file, "submodule", "--quiet", "add", &main_text, "sub"],
    );
    git(
        &home,
        &["clone", "--quiet", "--bare", &main_text, "bare.git"],
    );
    // A bare repository beside its worktrees, found through a `.git` file.
    let project = home.join("project");
    fs::create_dir(&project).unwrap();
    git(
        &project,
        &["clone", "--quiet", "--bare", &main_text, ".bare"],
    );
    temporary.write("project/.git", "gitdir: ./.bare\n");
    git(&project, &["worktree", "add", "--quiet", "one"]);
    git(
        &home,
        &["init", "--quiet", "--separate-git-dir", "apart", "separate"],
    );

    for folder in [
        "main",
        "main/src/deep",
        "linked",
        "linked/src",
        "outer",
        "outer/sub",
        "bare.git",
        "bare.git/refs",
        "project/one",
        "separate",
        "main/.git",
        "main/.git/refs",
    ] {
        let folder = home.join(folder);
        assert_eq!(find(&folder), as_git_says(&folder), "{}", folder.display());
    }
    let common = |folder: &str| key_of(Scope::Repo, &in_folder(&home.join(folder))).key;
    assert_eq!(common("main/src"), common("linked"));
    assert_ne!(common("outer"), common("outer/sub"));
    assert_eq!(common("project"), common("project/one"));
    let worktree = |folder: &str| key_of(Scope::Worktree, &in_folder(&home.join(folder))).key;
    assert_eq!(worktree("main/src/deep"), worktree("main"));
    assert_ne!(worktree("main"), worktree("linked"));
    assert_eq!(worktree("linked/src").folder(), Some(&*home.join("linked")));
    assert_eq!(common("linked").folder(), Some(&*main));
}

#[test]
fn a_repository_that_is_made_later_is_found_then() {
    let (temporary, home) = home();
    assert_eq!(find(&home), Found::Nothing);
    for folder in ["objects", "refs"] {
        fs::create_dir_all(home.join(".git").join(folder)).unwrap();
    }
    // Without a `HEAD` it is no repository yet.
    assert_eq!(find(&home), Found::Nothing);
    temporary.write(".git/HEAD", "ref: refs/heads/main\n");
    let repository = Repository {
        common: home.join(".git"),
        worktree: Some(home.clone()),
    };
    assert_eq!(find(&home), Found::Repository(repository));
}

#[test]
fn a_broken_pointer_isolates_and_does_not_lead_to_the_repository_above() {
    let (temporary, home) = home();
    git(&home, &["init", "--quiet"]);
    let inner = home.join("inner");
    fs::create_dir(&inner).unwrap();
    for (text, why) in [
        (
            "gitdir: /nowhere/at/all\n",
            "points to /nowhere/at/all, which is no git directory",
        ),
        (
            "something else",
            "does not begin with `gitdir: ` and a path",
        ),
        ("gitdir:  \n", "does not begin with `gitdir: ` and a path"),
    ] {
        temporary.write("inner/.git", text);
        let scoped = key_of(Scope::Repo, &in_folder(&inner));
        assert_eq!(scoped.key.to_string(), format!("cwd:{}", inner.display()));
        let degraded = scoped.degraded.unwrap();
        assert_eq!(
            degraded.because,
            format!("{} {why}", inner.join(".git").display())
        );
        assert!(degraded.fix.contains("git status"), "{degraded}");
    }
    temporary.write("inner/.git", [0xff; 40]);
    assert!(matches!(find(&inner), Found::Broken { .. }));
}

#[test]
fn keys_print_as_they_are_documented_and_links_are_resolved() {
    let (_home, home) = home();
    git(&home, &["init", "--quiet", "real"]);
    let real = home.join("real");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&real, home.join("link")).unwrap();
    let own = i32::try_from(std::process::id()).unwrap();
    let caller = Caller {
        cwd: Some(home.join("link")),
        session: Some("s1".to_owned()),
        parent_session: Some("s0".to_owned()),
        pid: Some(own),
        call: Some("c1".to_owned()),
        ..Caller::default()
    };
    let keys: Vec<String> = Scope::ALL
        .iter()
        .map(|scope| {
            let scoped = key_of(*scope, &caller);
            assert_eq!(scoped.degraded, None);
            assert_eq!(scoped.ends_with_caller, *scope == Scope::Call);
            scoped.key.to_string()
        })
        .collect();
    let real = real.display();
    assert_eq!(
        keys,
        [
            "global".to_owned(),
            format!("repo:{real}/.git"),
            format!("worktree:{real}"),
            format!("cwd:{real}"),
            "session:s1".to_owned(),
            "psession:s0".to_owned(),
            format!("pid:{own}"),
            "call:c1".to_owned(),
        ]
    );
}

/// Scope, what the caller says, the scope that is taken, what would fix it.
#[test]
fn what_a_caller_does_not_say_isolates_it_and_the_fix_is_named() {
    let (_home, home) = home();
    let nothing = Caller::default();
    let with_session = Caller {
        session: Some("s1".to_owned()),
        ..Caller::default()
    };
    let relative = in_folder(Path::new("src"));
    let gone = in_folder(&home.join("gone"));
    let outside = in_folder(&home);
    let no_process = Caller {
        pid: Some(-1),
        ..Caller::default()
    };
    for (scope, caller, taken, fix) in [
        (Scope::Repo, &nothing, Scope::Call, "MCPX_CWD"),
        (Scope::Repo, &outside, Scope::Cwd, "\"scope\": \"cwd\""),
        (Scope::Worktree, &outside, Scope::Cwd, "\"scope\": \"cwd\""),
        (Scope::Cwd, &nothing, Scope::Call, "x-mcpx-cwd"),
        (Scope::Cwd, &relative, Scope::Call, "x-mcpx-cwd"),
        (Scope::Cwd, &gone, Scope::Call, "x-mcpx-cwd"),
        (Scope::Session, &nothing, Scope::Call, "MCPX_SESSION_ID"),
        (
            Scope::ParentSession,
            &nothing,
            Scope::Call,
            "x-mcpx-parent-session",
        ),
        (
            Scope::ParentSession,
            &with_session,
            Scope::Session,
            "x-mcpx-parent-session",
        ),
        (Scope::Pid, &nothing, Scope::Call, "x-mcpx-pid"),
        (Scope::Pid, &no_process, Scope::Call, "x-mcpx-pid"),
    ] {
        let scoped = key_of(scope, caller);
        let degraded = scoped.degraded.unwrap();
        assert_eq!((degraded.from, degraded.to), (scope, taken), "{caller:?}");
        assert!(degraded.fix.contains(fix), "{degraded}");
        if taken == Scope::Call {
            assert!(scoped.ends_with_caller);
            assert_ne!(key_of(scope, caller).key, scoped.key, "two callers share");
        }
    }
}

#[test]
fn a_bare_repository_has_no_worktree_and_isolates() {
    let (_home, home) = home();
    git(&home, &["init", "--quiet", "--bare", "bare"]);
    let scoped = key_of(Scope::Worktree, &in_folder(&home.join("bare")));
    assert_eq!(
        scoped.key.to_string(),
        format!("cwd:{}", home.join("bare").display())
    );
    assert!(
        scoped
            .degraded
            .unwrap()
            .because
            .contains("without a worktree")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_ended_is_gone_and_its_id_given_again_is_another_key() {
    let mut child = CommandLine::new("sleep", &["60"])
        .to_command()
        .spawn()
        .unwrap();
    let caller = Caller {
        pid: Some(i32::try_from(child.id()).unwrap()),
        ..Caller::default()
    };
    let key = key_of(Scope::Pid, &caller).key;
    assert!(!key.is_process_gone());
    assert_eq!(key_of(Scope::Pid, &caller).key, key);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(key.is_process_gone());
    let after = key_of(Scope::Pid, &caller);
    assert_ne!(after.key, key);
    assert!(after.degraded.is_some());
}

#[test]
fn an_ephemeral_caller_owns_its_session_and_process_and_nothing_else() {
    let caller = Caller {
        session: Some("s1".to_owned()),
        parent_session: Some("s0".to_owned()),
        pid: i32::try_from(std::process::id()).ok(),
        ephemeral: true,
        ..Caller::default()
    };
    let owns = |scope| key_of(scope, &caller).ends_with_caller;
    assert!(owns(Scope::Session) && owns(Scope::Pid) && owns(Scope::Call));
    assert!(!owns(Scope::Global) && !owns(Scope::ParentSession));
    assert!(!Key::global().is_callers_own());
}

#[test]
fn two_sessions_that_name_their_calls_alike_share_nothing() {
    let call = |session: &str| {
        let caller = Caller {
            session: Some(session.to_owned()),
            call: Some("1".to_owned()),
            ..Caller::default()
        };
        key_of(Scope::Call, &caller).key
    };
    assert_eq!(call("a"), call("a"));
    assert_ne!(call("a"), call("b"));
}
