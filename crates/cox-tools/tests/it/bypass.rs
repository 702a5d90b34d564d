//! The lines that must not get through, judged as a session judges them and then run: what they would have done is real.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use cox_permission::{Anchors, ApprovalPolicy, Decision, Grants, Judge, Mode, RuleSet, RuleSource};
use cox_tools::{
    SubjectCx, Tool as _,
    bash::Bash,
    commands::{CommandSettings, Commands},
};
use cox_workspace::Roots;
use sandbox::{Choice, Policy};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// How long a line may run.
const LIMIT: Duration = Duration::from_secs(5);

/// How many lines run at the same time.
const WORKERS: usize = 4;

/// A workspace with a canary in it.
struct Cage {
    dir: tempfile::TempDir,
    root: PathBuf,
    commands: Commands,
}

impl Cage {
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = dir.path().join("work");
        fs::create_dir(&root).unwrap();
        let settings = CommandSettings {
            policy: Policy {
                mode: sandbox::Mode::WorkspaceWrite,
                writable: vec![root.clone()],
                read_only_within: Vec::new(),
                hidden: Vec::new(),
                network: false,
            },
            choice: Choice::Bwrap,
            helper: std::env::current_exe().unwrap(),
            env: BTreeMap::from([
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME".into(), root.clone().into_os_string()),
            ]),
            cwd: root.clone(),
            default_timeout: LIMIT,
            max_timeout: LIMIT,
        };
        Self {
            commands: Commands::new(settings),
            dir,
            root,
        }
    }

    /// Makes the workspace as it was, whatever a line did to it.
    fn reset(&self) {
        for entry in fs::read_dir(&self.root).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name() == Some("base".as_ref()) {
                continue;
            }
            let gone = if path.is_dir() && !path.is_symlink() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            gone.unwrap();
        }
        let root = &self.root;
        for folder in ["canary/empty", "src", "bin"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let script = "#!/bin/bash\n/usr/bin/touch canary/x\n";
        for (path, text) in [
            ("canary/file", "alive\n"),
            ("src/a.txt", "alive\n"),
            ("src/b.txt", "different\n"),
            ("src/hex.txt", "00000000: 41\n"),
            ("src/magic", "0 string a b\n"),
            ("src/evil.sed", "w canary/x\n"),
            ("src/evil.awk", "BEGIN{system(\"touch canary/x\")}\n"),
            ("src/evil.mk", "all:\n\ttouch canary/x\n"),
            ("src/evil.c", "int x;\n"),
            ("evil.py", "open('canary/x','w')\n"),
            ("evil.js", "require('fs').writeFileSync('canary/x','')\n"),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        for path in ["evil.sh", "evil", "bin/ls", "bin/git-ls", "ls"] {
            fs::write(root.join(path), script).unwrap();
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink("canary/file", root.join("link")).unwrap();
        symlink("canary", root.join("linkdir")).unwrap();
        // A repository of one commit, made once and copied.
        if let Ok(made) = fs::read_dir(self.dir.path().join("git")) {
            copy(made, &root.join(".git"));
        }
    }

    fn state(&self) -> BTreeSet<(PathBuf, Vec<u8>, u32)> {
        let mut found = BTreeSet::new();
        look(&self.root.join("canary"), &mut found);
        found
    }

    /// Runs a line and returns what it printed, for the person who looks at a failure.
    async fn run(&self, line: &str) -> String {
        let shell = self.commands.shell(Some("bash")).unwrap();
        let cancel = CancellationToken::new();
        let mut printed = Vec::new();
        self.commands
            .run(line, &shell, LIMIT, &cancel, &mut |bytes: &[u8]| {
                printed.extend_from_slice(&bytes[..bytes.len().min(4096)]);
            })
            .await
            .unwrap_or_else(|error| panic!("the sandbox must be there: {error}"));
        String::from_utf8_lossy(&printed).into_owned()
    }
}

fn copy(from: fs::ReadDir, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in from {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match fs::read_dir(&path) {
            Ok(inner) => copy(inner, &target),
            Err(_) => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

fn look(path: &Path, found: &mut BTreeSet<(PathBuf, Vec<u8>, u32)>) {
    let Ok(about) = fs::symlink_metadata(path) else {
        return;
    };
    // A pipe has no content to read.
    let content = if about.is_file() {
        fs::read(path).unwrap_or_default()
    } else {
        Vec::new()
    };
    found.insert((path.to_owned(), content, about.permissions().mode()));
    if about.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            look(&entry.path(), found);
        }
    }
}

fn judge(root: &Path, mode: Mode) -> Judge {
    let sources = |rules: &[&str]| {
        let source = |rule: &&str| RuleSource {
            text: (*rule).to_owned(),
            origin: "test".into(),
        };
        rules.iter().map(source).collect()
    };
    let anchors = Anchors {
        root: root.to_owned(),
        home: root.to_owned(),
    };
    let allow = sources(&[
        "Bash(git log:*)",
        "Bash(git diff:*)",
        "Bash(echo:*)",
        "Bash(ls:*)",
        "Bash(cat:*)",
    ]);
    Judge {
        rules: RuleSet::compile(sources(&["Edit(canary/**)"]), Vec::new(), allow, &anchors)
            .unwrap(),
        mode,
        policy: ApprovalPolicy::OnRequest,
        grants: Grants::default(),
        sandboxed: true,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_gets_through_unasked_and_all_of_it_would_have_done_harm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cox-permission/corpus/bypass.txt");
    let text = fs::read_to_string(corpus).unwrap();
    let lines: Vec<(usize, bool, String)> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| {
            !line.is_empty()
                && !line.starts_with("# ")
                && !line.starts_with("#! ")
                && !line.starts_with("## ")
                && *line != "#"
        })
        .map(|(at, line)| match line.strip_prefix("~ ") {
            Some(line) => (at + 1, false, line.replace('⏎', "\n")),
            None => (at + 1, true, line.replace('⏎', "\n")),
        })
        .collect();
    let lines = Arc::new(lines);
    let mut workers = Vec::new();
    for worker in 0..WORKERS {
        let lines = Arc::clone(&lines);
        workers.push(tokio::spawn(async move {
            let cage = Cage::new();
            cage.reset();
            let printed = cage
                .run("git init -q -b main . && git config user.name a && git config user.email a@b && git add src && git commit -qm one && git commit -q --allow-empty -m two && git commit -q --allow-empty -m three; cp -r .git base")
                .await;
            fs::rename(cage.root.join("base"), cage.dir.path().join("git"))
                .unwrap_or_else(|error| panic!("{error}: {printed}"));
            let roots = Roots {
                cwd: cage.root.clone(),
                home: cage.root.clone(),
                readable: vec![cage.root.clone()],
                writable: vec![cage.root.clone()],
            };
            let cx = SubjectCx {
                roots: Arc::new(roots),
            };
            let (mut through, mut harmless, mut quiet) = (Vec::new(), Vec::new(), 0);
            for (at, must_harm, line) in lines.iter().skip(worker).step_by(WORKERS) {
                cage.reset();
                let subject = Bash.subject(&json!({ "command": line }), &cx).unwrap();
                for mode in [Mode::Default, Mode::Auto] {
                    if judge(&cage.root, mode).judge(&subject).decision == Decision::Allow {
                        through.push(format!("{at}: {line} ({mode:?})"));
                    }
                }
                let before = cage.state();
                let printed = cage.run(line).await;
                match (cage.state() == before, must_harm) {
                    (true, true) => harmless.push(format!("{at}: {line}: {printed}")),
                    (true, false) => quiet += 1,
                    (false, _) => {}
                }
            }
            (through, harmless, quiet)
        }));
    }
    let (mut through, mut harmless, mut quiet) = (Vec::new(), Vec::new(), 0);
    for worker in workers {
        let (some, others, more) = worker.await.unwrap();
        through.extend(some);
        harmless.extend(others);
        quiet += more;
    }
    println!(
        "bypass: {} of {} lines got through unasked; {} did the harm they are about, {quiet} cannot on this machine",
        through.len(),
        lines.len(),
        lines.len() - harmless.len() - quiet
    );
    assert!(
        through.is_empty() && harmless.is_empty(),
        "got through:\n{}\ndid no harm:\n{}",
        through.join("\n"),
        harmless.join("\n")
    );
}
