//! `bash` as a session calls it: what it streams, what it answers, what it is kept from.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use cox_permission::Target;
use cox_tools::{
    Answer, OutputSink, Relay, SubjectCx, Tool, ToolCx, ToolError, ToolOutput,
    bash::Bash,
    commands::{CommandSettings, Commands},
};
use cox_workspace::{Roots, Workspace};
use sandbox::{Choice, Mode, Policy};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Keeps what was streamed.
#[derive(Default)]
struct Screen(Mutex<Vec<u8>>);

impl OutputSink for Screen {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }
}

struct NobodyThere;

#[async_trait]
impl Relay for NobodyThere {
    async fn ask(&self, _question: &str, _options: &[String]) -> Answer {
        Answer::Nobody
    }
}

struct Lab {
    dir: tempfile::TempDir,
    cx: ToolCx,
    screen: Arc<Screen>,
}

impl Lab {
    fn new(mode: Mode, choice: Choice) -> Self {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = dir.path().join("work");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        let settings = CommandSettings {
            policy: Policy {
                mode,
                writable: vec![root.clone()],
                read_only_within: sandbox::default_read_only(&root),
                hidden: Vec::new(),
                network: false,
            },
            choice,
            helper: std::env::current_exe().unwrap(),
            env: BTreeMap::from([
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("OPENAI_API_KEY".into(), "canary".into()),
            ]),
            cwd: root.clone(),
            default_timeout: Duration::from_secs(60),
            max_timeout: Duration::from_secs(60),
        };
        let roots = Arc::new(Roots {
            cwd: root.clone(),
            home: root.clone(),
            readable: vec![root.clone()],
            writable: vec![root],
        });
        let screen = Arc::new(Screen::default());
        let cx = ToolCx {
            workspace: Arc::new(Workspace::new(roots)),
            archive: Arc::new(cox_store::Archive::new(cox_store::Home::new(
                dir.path().join("home"),
            ))),
            commands: Arc::new(Commands::new(settings)),
            cancel: CancellationToken::new(),
            output: Arc::clone(&screen) as Arc<dyn OutputSink>,
            relay: Arc::new(NobodyThere),
            may_read: Arc::new(|_| true),
        };
        Self { dir, cx, screen }
    }

    fn bare() -> Self {
        Self::new(Mode::DangerFullAccess, Choice::None)
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    async fn call(&self, input: Value) -> Result<ToolOutput, ToolError> {
        Bash.call(input, &self.cx).await
    }

    /// Returns what was streamed since the last time.
    fn shown(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.screen.0.lock().unwrap())).unwrap()
    }
}

/// Returns an outcome with its times replaced.
fn timeless(text: &str) -> String {
    let mut words: Vec<String> = text.split(' ').map(ToOwned::to_owned).collect();
    for word in &mut words {
        if word.parse::<f64>().is_ok() && word.contains('.') {
            *word = "T".to_owned();
        }
    }
    words.join(" ")
}

/// Checks what a line streams and what the call then answers: text, whether it is an error, exit code.
async fn check(lab: &Lab, line: &str, streamed: &str, answer: (&str, bool, Option<i32>)) {
    let output = lab.call(json!({"command": line})).await.unwrap();
    let found = (timeless(&output.text), output.is_error, output.exit_code);
    let (text, is_error, code) = answer;
    assert_eq!(
        (lab.shown().as_str(), found),
        (streamed, (text.to_owned(), is_error, code)),
        "{line}"
    );
}

#[tokio::test]
async fn output_is_streamed_and_the_answer_says_how_it_ended() {
    let lab = Lab::bare();
    check(
        &lab,
        "echo a; echo b >&2",
        "a\nb\n",
        ("[exit 0, T s]", false, Some(0)),
    )
    .await;
    check(
        &lab,
        "printf a; exit 7",
        "a",
        ("\n[exit 7, T s]", true, Some(7)),
    )
    .await;
    check(
        &lab,
        "kill -9 $$",
        "",
        ("[killed by SIGKILL, T s]", true, None),
    )
    .await;
    check(
        &lab,
        "[[ -n x ]] && cat <(echo yes)",
        "yes\n",
        ("[exit 0, T s]", false, Some(0)),
    )
    .await;
    check(
        &lab,
        "nonexistent-program 2>/dev/null",
        "",
        ("[exit 127, T s]", true, Some(127)),
    )
    .await;
    check(
        &lab,
        "sleep 1000 & echo x",
        "x\n",
        (
            "[exit 0, T s]\n[1 background process was ended with the command: `sleep 1000`; `background: true` keeps it running]",
            false,
            Some(0),
        ),
    )
    .await;
}

#[tokio::test]
async fn nothing_waits_for_a_person_and_no_key_is_seen() {
    let lab = Lab::bare();
    check(
        &lab,
        "cat; echo $NO_COLOR $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT; env | grep -c canary",
        "1 cat cat 0\n0\n",
        ("[exit 1, T s]", true, Some(1)),
    )
    .await;
}

#[tokio::test]
async fn a_timeout_is_said() {
    let lab = Lab::bare();
    let begun = Instant::now();
    let output = lab
        .call(json!({"command": "echo a; sleep 1000", "timeout_s": 1}))
        .await
        .unwrap();
    assert_eq!(lab.shown(), "a\n");
    assert_eq!(
        output.text,
        "[timed out after 1.0 s: ended with everything it started]"
    );
    assert_eq!((output.is_error, output.exit_code), (true, None));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_cancelled_call_ends() {
    let lab = Lab::bare();
    lab.cx.cancel.cancel();
    let output = lab.call(json!({"command": "sleep 1000"})).await.unwrap();
    assert_eq!(
        timeless(&output.text),
        "[cancelled after T s: ended with everything it started]"
    );
}

#[tokio::test]
async fn shells_come_from_fixed_folders() {
    let lab = Lab::bare();
    let output = lab
        .call(json!({"command": "echo $0", "shell": "sh"}))
        .await
        .unwrap();
    assert_eq!(
        (output.exit_code, lab.shown().as_str()),
        (Some(0), "/bin/sh\n")
    );
    let error = lab
        .call(json!({"command": "x", "shell": "../../evil"}))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no shell `../../evil` in /bin, "),
        "{error}"
    );
}

#[tokio::test]
async fn the_subject_is_the_line() {
    let lab = Lab::bare();
    let cx = SubjectCx {
        roots: Arc::clone(lab.cx.workspace.roots()),
    };
    let subject = Bash
        .subject(&json!({"command": "cargo test"}), &cx)
        .unwrap();
    assert_eq!(
        (subject.tool.as_str(), subject.text.as_str()),
        ("bash", "cargo test")
    );
    assert!(matches!(&subject.targets[..], [Target::Command { line, .. }] if line == "cargo test"));
    assert!(Bash.subject(&json!({"command": " "}), &cx).is_err());
    assert!(Bash.subject(&json!({}), &cx).is_err());
}

#[tokio::test]
async fn every_backend_holds_the_line_and_names_the_rule() {
    for choice in [
        Choice::Auto,
        Choice::Bwrap,
        Choice::Namespaces,
        Choice::Landlock,
    ] {
        let lab = Lab::new(Mode::WorkspaceWrite, choice);
        if lab.cx.commands.detected().backend == sandbox::Backend::None {
            continue;
        }
        check(
            &lab,
            "echo x > made && cat made",
            "x\n",
            ("[exit 0, T s]", false, Some(0)),
        )
        .await;
        let outside = lab.dir.path().join("outside/x");
        let line = format!(
            "echo x > {} 2>/dev/null || cat /etc/hostname >> {0}",
            outside.display()
        );
        let output = lab.call(json!({"command": line})).await.unwrap();
        let rule = format!(
            "[sandbox: the sandbox lets only `{}` and `/tmp` be written ({}); write there, or ask the user for `--add-dir`]",
            lab.work().display(),
            outside.display()
        );
        assert!(output.text.ends_with(&rule), "{choice:?}: {}", output.text);
        assert!(!outside.exists());
    }
}

#[tokio::test]
async fn plan_mode_writes_nothing() {
    let mut lab = Lab::new(Mode::WorkspaceWrite, Choice::Auto);
    let read_only = lab.cx.commands.read_only();
    assert_eq!(
        read_only.with_mode(Mode::DangerFullAccess).mode(),
        Mode::WorkspaceWrite
    );
    lab.cx.commands = Arc::new(read_only);
    let output = lab.call(json!({"command": "echo x > made"})).await.unwrap();
    assert!(
        output.text.contains("[sandbox: the sandbox is read-only"),
        "{}",
        output.text
    );
    assert!(!lab.work().join("made").exists());
}

#[tokio::test]
async fn without_a_sandbox_nothing_runs() {
    let lab = Lab::new(Mode::WorkspaceWrite, Choice::None);
    let error = lab
        .call(json!({"command": "echo x > made"}))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("`--sandbox danger-full-access`"), "{error}");
    assert!(!Path::new(&lab.work().join("made")).exists());
}

#[tokio::test]
async fn the_workspace_looks_the_same_afterwards() {
    let lab = Lab::new(Mode::WorkspaceWrite, Choice::Auto);
    lab.call(json!({"command": "ls -a; mkdir .cox/x"}))
        .await
        .unwrap();
    let mut names: Vec<_> = fs::read_dir(lab.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".git"]);
}

#[tokio::test]
async fn a_command_may_have_a_terminal_whose_input_ends() {
    for (mode, choice) in [
        (Mode::DangerFullAccess, Choice::None),
        (Mode::WorkspaceWrite, Choice::Auto),
    ] {
        let lab = Lab::new(mode, choice);
        let line = "test -t 0 && test -t 1 && cat && echo $TERM";
        let output = lab
            .call(json!({"command": line, "pty": true}))
            .await
            .unwrap();
        assert_eq!(
            (lab.shown().as_str(), output.exit_code),
            ("dumb\n", Some(0)),
            "{mode:?}"
        );
        let output = lab.call(json!({"command": "test -t 1"})).await.unwrap();
        assert_eq!(output.exit_code, Some(1), "{mode:?}");
    }
}

#[tokio::test]
async fn a_denied_file_that_came_to_exist_is_hidden_from_the_next_command() {
    let mut lab = Lab::new(Mode::WorkspaceWrite, Choice::Auto);
    let denied =
        cox_tools::commands::DeniedFiles::new(vec![lab.work()], |path| path.ends_with(".env"));
    lab.cx.commands = Arc::new(lab.cx.commands.as_ref().clone().hiding(denied));
    lab.call(json!({"command": "true"})).await.unwrap();
    fs::create_dir(lab.work().join("sub")).unwrap();
    fs::write(lab.work().join("sub/.env"), "canary").unwrap();
    let output = lab.call(json!({"command": "cat sub/.env"})).await.unwrap();
    assert!(
        output.is_error && !lab.shown().contains("canary"),
        "{}",
        output.text
    );
    // More than can be hidden: nothing runs.
    for number in 0..600 {
        let folder = lab.work().join(format!("many{number}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(".env"), "").unwrap();
    }
    let refused = lab
        .call(json!({"command": "true"}))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.starts_with("no command can run:") && refused.contains("500 paths"),
        "{refused}"
    );
}
