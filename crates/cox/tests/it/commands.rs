//! Commands through the real binary: in the background, against the sandbox, and with everything they try to leave behind.

use std::{
    fs,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Answer, FakeModel, wait_until};

use crate::harness::{Cox, Ran};

/// Lets commands run unasked.
const ALLOWED: [&str; 2] = ["--allowed-tools", "Bash(*)"];

fn bash(id: &str, line: &str) -> Answer {
    Answer::call(id, "bash", json!({ "command": line }))
}

fn background(id: &str, line: &str) -> Answer {
    Answer::call(id, "bash", json!({ "command": line, "background": true }))
}

fn run(cox: &Cox, more: &[&str]) -> Ran {
    cox.run(&[&["run", "-p", "work"], &ALLOWED[..], more].concat())
}

/// Returns the text of the last result that the model was sent.
fn last_result(model: &FakeModel) -> String {
    let body = model.requests().pop().unwrap().body;
    let messages = body["messages"].as_array().unwrap();
    let result = messages
        .iter()
        .rev()
        .find(|message| message["role"] == "tool");
    result.unwrap()["content"].as_str().unwrap().to_owned()
}

/// Adds lines to the person's configuration.
fn configure(cox: &Cox, more: &str) {
    let path = cox.home.path().join(".cox/config.toml");
    let text = fs::read_to_string(&path).unwrap();
    cox.home
        .write(".cox/config.toml", format!("{text}\n{more}\n"));
}

/// The backends that a command may be confined by here.
const BACKENDS: [&str; 3] = ["bwrap", "namespaces", "landlock"];

/// Confines commands by one backend.
fn confine(cox: &Cox, backend: &str) {
    configure(cox, &format!("[sandbox]\nlinux_backend = \"{backend}\""));
}

/// Runs one line and returns what the model sees of it.
#[track_caller]
fn seen(line: &str) -> String {
    seen_under("bwrap", line)
}

#[track_caller]
fn seen_under(backend: &str, line: &str) -> String {
    let model = FakeModel::start([bash("c1", line), Answer::text("Done.")]);
    let cox = Cox::with_model(&model);
    confine(&cox, backend);
    let ran = run(&cox, &[]);
    assert_eq!(ran.code, 0, "{ran}");
    last_result(&model)
}

/// Says whether a process runs that has `word` among its arguments.
fn runs(word: &str) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return false;
    };
    processes.filter_map(Result::ok).any(|process| {
        fs::read(process.path().join("cmdline")).is_ok_and(|line| {
            line.split(|byte| *byte == 0)
                .any(|arg| arg == word.as_bytes())
        })
    })
}

/// Returns a number of seconds that no other process sleeps for.
fn mark(number: u32) -> String {
    format!("{}.{number}", 100_000 + std::process::id())
}

fn wait_gone(mark: &str) {
    wait_until("nothing is left", Duration::from_secs(10), || !runs(mark));
}

#[test]
fn a_task_is_started_read_and_told_how_it_ended() {
    let model = FakeModel::start([
        background("c1", "echo up; read x < go; echo done; exit 3"),
        bash("c2", "echo x > go"),
        Answer::call("c3", "task", json!({ "id": "t1", "wait_s": 20 })),
        Answer::call("c4", "task", json!({ "id": "t1", "lines": "2-2" })),
        Answer::text("Done."),
    ]);
    let cox = Cox::with_model(&model);
    let made = std::process::Command::new("mkfifo")
        .arg(cox.work.path().join("go"))
        .status();
    assert!(made.unwrap().success());
    let ran = run(&cox, &[]);
    assert_eq!(ran.code, 0, "{ran}");
    let requests = model.requests();
    let results: Vec<String> = requests.last().unwrap().body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        results[0].starts_with("[runs in the background as task t1;"),
        "{results:#?}"
    );
    assert!(
        results[2].starts_with("up\ndone\n[exit 3, "),
        "{results:#?}"
    );
    assert!(results[3].starts_with("2\tdone\n[exit 3, "), "{results:#?}");
    let tools = |index: usize| requests[index].body["tools"].to_string();
    assert!(!tools(0).contains("\"task\"") && tools(1).contains("\"task\""));
    assert!(!ran.stderr.contains("ended with the session"), "{ran}");
}

#[test]
fn a_task_that_ended_by_itself_is_told_and_a_resumed_session_says_the_same() {
    let model = FakeModel::start([
        background("c1", "exit 5"),
        bash("c2", "sleep 1"),
        bash("c3", "true"),
        Answer::text("Done."),
    ]);
    let cox = Cox::with_model(&model);
    let ran = run(&cox, &[]);
    assert_eq!(ran.code, 0, "{ran}");
    let before = model.requests().pop().unwrap();
    assert!(
        before
            .text
            .contains("Background task t1 (`exit 5`) has ended: [exit 5, "),
        "{}",
        before.text
    );
    assert_eq!(
        before.text.matches("has ended").count(),
        1,
        "{}",
        before.text
    );

    model.push(Answer::text("Again."));
    let ran = run(&cox, &["--continue"]);
    assert_eq!(ran.code, 0, "{ran}");
    let after = model.requests().pop().unwrap();
    let (before, after) = (&before.body["messages"], &after.body["messages"]);
    let length = before.as_array().unwrap().len();
    assert_eq!(
        before.as_array().unwrap()[..],
        after.as_array().unwrap()[..length]
    );
}

#[test]
fn a_task_ends_with_its_session_and_the_person_is_told() {
    let mark = mark(1);
    let line = format!("trap '' TERM; setsid sleep {mark} & wait");
    let model = FakeModel::start([background("c1", &line), Answer::text("Done.")]);
    let cox = Cox::with_model(&model);
    let ran = run(&cox, &[]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        ran.stderr
            .contains("ended with the session: background task t1 (`trap"),
        "{ran}"
    );
    assert!(!runs(&mark));
}

#[test]
fn a_task_is_ended_when_the_model_says_so() {
    let mark = mark(2);
    let model = FakeModel::start([
        background("c1", &format!("echo up; sleep {mark} & wait")),
        Answer::call("c2", "task", json!({ "id": "t1", "kill": true })),
        Answer::call("c3", "task", json!({ "id": "t7" })),
        Answer::text("Done."),
    ]);
    let cox = Cox::with_model(&model);
    let ran = run(&cox, &[]);
    let text = model.requests().pop().unwrap().text;
    assert!(text.contains("ended with everything it started]"), "{text}");
    assert!(
        text.contains("there is no task `t7`; the tasks are t1"),
        "{text}"
    );
    assert!(!ran.stderr.contains("ended with the session"), "{ran}");
    assert!(!runs(&mark));
}

#[test]
fn the_model_sees_text_and_the_archive_has_it_all() {
    let folded = seen("for i in 1 2 3 4; do echo step $i of 4; done; echo end");
    assert!(
        folded.starts_with("step 1 of 4 (×4)\nend\n[exit 0, "),
        "{folded}"
    );
    assert!(
        folded.contains("[repeated lines are folded; `expand` "),
        "{folded}"
    );
    let bar = seen(r"printf ' 1%%\r 50%%\r100%%\n\033[31mred\033[0m\n'");
    assert!(bar.starts_with("100%\nred\n[exit 0, "), "{bar}");
    let binary = seen("head -c 5000 /dev/zero");
    assert!(
        binary.starts_with("[binary output of 5000 bytes, not shown; all of it is archived as "),
        "{binary}"
    );
    assert!(binary.contains("\n[exit 0, "), "{binary}");
}

#[test]
fn nothing_that_a_command_starts_is_left() {
    for (number, line) in [
        "sleep MARK &",
        "sleep MARK >/dev/null 2>&1 & disown",
        "nohup sleep MARK &",
        "setsid sleep MARK &",
        "setsid -f sleep MARK",
        "(setsid sh -c 'setsid sleep MARK & sleep MARK' &)",
        "(env -i setsid sleep MARK &)",
        "trap '' TERM HUP INT; sleep MARK &",
        "sh -c 'sleep MARK & kill -STOP $$' &",
        "python3 -c 'import os, time\nfor i in range(20):\n if os.fork() == 0: os._exit(0)\nif os.fork() == 0: os.execvp(\"sleep\", [\"sleep\", \"MARK\"])'",
        "coproc sleep MARK; true",
        "sleep MARK | sleep MARK &",
    ]
    .into_iter()
    .enumerate()
    {
        let mark = mark(10 + u32::try_from(number).unwrap());
        let begun = Instant::now();
        for backend in BACKENDS {
            let text = seen_under(backend, &line.replace("MARK", &mark));
            assert!(!runs(&mark), "{backend}, {line}: {text}");
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{line}: {:?}", begun.elapsed());
    }
}

/// Starts a run whose command says that it runs by making the file `up`.
fn start(cox: &Cox) -> Child {
    let child = cox
        .command(&[&["run", "-p", "work"], &ALLOWED[..]].concat())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the command runs", Duration::from_secs(20), || {
        cox.work.path().join("up").exists()
    });
    child
}

#[test]
fn a_signal_to_cox_leaves_no_process() {
    // A task and a command at once, with all that can hide from a signal.
    let hides = "trap '' TERM HUP; (setsid sleep MARK &); sh -c 'kill -STOP $$' MARK & (env -i setsid sleep MARK &);";
    for (backend, first) in BACKENDS.into_iter().zip([40, 50, 60]) {
        for (number, (signal, code)) in [("TERM", Some(143)), ("INT", Some(4)), ("KILL", None)]
            .into_iter()
            .enumerate()
        {
            let mark = mark(first + u32::try_from(number).unwrap());
            let hides = hides.replace("MARK", &mark);
            let model = FakeModel::start([
                background("c1", &format!("{hides} sleep {mark}")),
                bash("c2", &format!("{hides} echo > up; sleep {mark}")),
                Answer::text("Done."),
            ]);
            let cox = Cox::with_model(&model);
            confine(&cox, backend);
            let mut child = start(&cox);
            let sent = std::process::Command::new("kill")
                .args(["-s", signal, &child.id().to_string()])
                .status();
            assert!(sent.unwrap().success());
            let ended = child.wait().unwrap();
            assert_eq!(ended.code(), code, "{backend}, {signal}");
            wait_gone(&mark);
        }
    }
}

#[test]
fn a_gigabyte_of_output_needs_little_memory() {
    let model = FakeModel::start([
        bash(
            "c1",
            "head -c 1000000000 /dev/zero | tr '\\0' 'x' | fold -w 99",
        ),
        Answer::text("Done."),
    ]);
    let cox = Cox::with_model(&model);
    let mut child = cox
        .command(&[&["run", "-p", "work"], &ALLOWED[..]].concat())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(now.unwrap_or_default());
        std::thread::yield_now();
    }
    assert!(peak > 0 && peak < 150_000, "{peak} kB");
    let text = last_result(&model);
    assert!(
        text.contains("(×") && text.contains("shows all 10"),
        "{text}"
    );
}

/// Runs one line that the sandbox stops under `on-failure`, with these answers on stdin.
fn on_failure(answer: impl Fn(&str) -> String) -> (Ran, String, Cox) {
    let model = FakeModel::start([bash("c1", "python3 writes.py"), Answer::text("Done.")]);
    let cox = Cox::with_model(&model);
    // A folder of the machine that no sandboxed command may write.
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let made = outside.path().join("made");
    cox.work.write(
        "writes.py",
        format!("open({made:?}, 'w').write('hi')\nprint('hi')\n"),
    );
    let args = [
        "run",
        "-p",
        "work",
        "--approve",
        "on-failure",
        "--output-format",
        "stream-json",
    ];
    let mut child = cox
        .command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take();
    let mut stdout = String::new();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    for line in lines.map_while(Result::ok) {
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["type"] == "approval_required" {
            let said = answer(event["call"].as_str().unwrap());
            if said.is_empty() {
                drop(stdin.take());
            } else if let Some(stdin) = &mut stdin {
                use std::io::Write as _;
                writeln!(stdin, "{said}").unwrap();
            }
        }
        stdout.push_str(&line);
        stdout.push('\n');
    }
    let code = child.wait().unwrap().code().unwrap();
    let ran = Ran {
        code,
        stdout,
        stderr: String::new(),
    };
    (ran, last_result(&model), cox)
}

#[test]
fn what_the_sandbox_stopped_runs_bare_only_when_a_person_allows() {
    let (ran, text, _cox) = on_failure(|call| json!({ "approve": call }).to_string());
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        text.contains("[sandbox: ") && text.contains("[again, without the sandbox]\nhi\n[exit 0, "),
        "{text}"
    );
    let (ran, text, _cox) = on_failure(|call| json!({ "deny": call }).to_string());
    assert_eq!(ran.code, 2, "{ran}");
    assert!(
        text.contains("[sandbox: ") && !text.contains("without the sandbox]"),
        "{text}"
    );
    assert!(
        ran.stdout
            .contains("not run again without the sandbox: the person said no"),
        "{ran}"
    );
    let (ran, text, _cox) = on_failure(|_| String::new());
    assert_eq!(ran.code, 2, "{ran}");
    assert!(!text.contains("without the sandbox]"), "{text}");
    assert!(
        ran.stdout.contains("not run again without the sandbox: "),
        "{ran}"
    );
}

#[test]
fn plan_mode_writes_nothing_whatever_is_allowed() {
    // Each tries to leave a file behind; some are refused as commands, the others by the read-only sandbox.
    let lines = [
        "touch made",
        "echo x > made",
        "git diff --output=made",
        "git --no-pager log --output=made",
        "sort -o made file",
        "find . -fprint made",
        "find . -exec touch made ;",
        "tee made < file",
        "cp file made",
        "sed -n 'w made' file",
        "awk 'BEGIN { print 1 > \"made\" }'",
        "python3 -c 'open(\"made\", \"w\")'",
        "git init -q made",
        "git config user.name made",
        "dd if=file of=made",
        "cat file | tee made",
        "ls; touch made",
        "mkdir made",
        "ln -s file made",
        "rm file",
        "echo x >> file",
        "echo x > $HOME/made",
        "echo x > .git/made",
        "echo x > /var/tmp/made",
        "bash -c 'touch made'",
        "env touch made",
        "xargs touch < file",
        "curl -o made file:///etc/hostname",
        "rg --pre 'touch made' x",
        "tar cf made file",
        "unzip file -d made",
    ];
    let mut answers: Vec<Answer> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        answers.push(bash(&format!("c{number}"), line));
    }
    answers.push(Answer::call(
        "e1",
        "write",
        json!({ "path": "made", "content": "x" }),
    ));
    answers.push(Answer::call(
        "e2",
        "bash",
        json!({ "command": "touch made", "background": true }),
    ));
    answers.push(Answer::call(
        "e3",
        "task",
        json!({ "id": "t1", "wait_s": 20 }),
    ));
    answers.push(Answer::text("Done."));
    let model = FakeModel::start(answers);
    let cox = Cox::with_model(&model);
    cox.work.write("file", "made\n");
    let before = listing(&cox);
    let ran = run(
        &cox,
        &[
            "--permission-mode",
            "plan",
            "--output-format",
            "stream-json",
        ],
    );
    assert_eq!(model.requests().len(), lines.len() + 4, "{ran}");
    assert_eq!(listing(&cox), before, "{ran}");
    assert!(!std::path::Path::new("/var/tmp/made").exists());
}

/// Returns every file in reach with its content, cox's own home apart.
fn listing(cox: &Cox) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![cox.work.path().to_owned(), cox.home.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() && !path.ends_with(".cox") {
                folders.push(path.clone());
            }
            let content = fs::read_to_string(&path).unwrap_or_default();
            found.push((path.display().to_string(), content));
        }
    }
    found.sort();
    found
}

#[test]
fn what_a_read_deny_with_a_wildcard_covers_is_hidden_from_commands() {
    for backend in BACKENDS {
        let line = "perl -e 'open(F, \"deep/a/key.pem\") or die \"deep/a/key.pem: $!\"; print <F>'";
        let model = FakeModel::start([
            bash("c1", line),
            bash("c2", &line.replace("key.pem", "open")),
            Answer::text("Done."),
        ]);
        let cox = Cox::with_model(&model);
        confine(&cox, backend);
        configure(&cox, "[permissions]\ndeny = [\"Read(**/*.pem)\"]");
        cox.work.write("deep/a/key.pem", "canary");
        cox.work.write("deep/a/open", "no secret");
        let ran = run(&cox, &[]);
        let text = model.requests().pop().unwrap().text;
        assert!(!text.contains("canary"), "{backend}: {text}");
        assert!(
            text.contains("[sandbox: the sandbox hides `"),
            "{backend}: {text}\n{ran}"
        );
        assert!(text.contains("no secret"), "{backend}: {text}");
    }
}

#[test]
fn processes_are_counted_and_capped() {
    for backend in ["bwrap", "namespaces"] {
        let text = seen_under(backend, "ulimit -u");
        assert!(text.starts_with("8192\n"), "{backend}: {text}");
    }
}

#[test]
fn doctor_says_what_the_sandbox_cannot_hold() {
    let cox = Cox::new();
    fs::rename(cox.work.path().join(".git"), cox.work.path().join("real")).unwrap();
    std::os::unix::fs::symlink("real", cox.work.path().join(".git")).unwrap();
    // With mounts of its own a sandbox keeps the link too.
    let config = "[sandbox]\nlinux_backend = \"landlock\"\n";
    cox.home.write(".cox/config.toml", config);
    let ran = cox.run(&["doctor", "--json"]);
    assert!(
        ran.stdout
            .contains(".git` is a link: what it leads to is kept"),
        "{ran}"
    );
}
