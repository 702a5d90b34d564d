//! A session that is ended or killed while its commands run: under every sandbox nothing of them is left.

use std::{
    fs,
    process::{Child, Stdio},
    time::Duration,
};

use serde_json::json;
use testkit::{Answer, FakeModel, wait_until};

use crate::harness::Cox;

const BACKENDS: [&str; 3] = ["bwrap", "namespaces", "landlock"];

/// Starts processes that got away from their parent each in another way, then waits. All of them sleep for `seconds`,
/// which nothing else on the machine does.
fn runaways(seconds: &str) -> String {
    format!(
        "sleep {seconds} & setsid sleep {seconds} & (setsid -f sleep {seconds}); (env -i nohup sleep {seconds} >/dev/null 2>&1 &); \
         python3 -c 'import os\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: os.execvp(\"sleep\", [\"sleep\", \"{seconds}\"])'; \
         trap '' HUP; touch started-{seconds}; sleep {seconds}"
    )
}

/// Returns how many processes sleep for so long.
fn sleepers(seconds: &str) -> usize {
    let line = format!("sleep\0{seconds}\0");
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter(|process| {
            fs::read(process.path().join("cmdline")).is_ok_and(|own| own == line.as_bytes())
        })
        .count()
}

/// Returns a session in which commands run by `backend`; none where that does not work here.
#[expect(clippy::print_stderr, reason = "what is not tested here is said")]
fn cox(model: &FakeModel, backend: &str) -> Option<Cox> {
    // A program in a hidden folder is found under Landlock, and cannot be run.
    let cox = Cox::with_model(model).variable("PATH", "/usr/local/bin:/usr/bin:/bin");
    let config = cox.home.read(".cox/config.toml");
    let config = format!("{config}\n[sandbox]\nlinux_backend = \"{backend}\"\n");
    cox.home.write(".cox/config.toml", config);
    let checks = cox.run(&["doctor", "--json"]).json();
    let sandbox = checks["checks"].as_array().unwrap().iter();
    let works = sandbox
        .filter(|check| check["name"] == "sandbox")
        .any(|check| check["state"] != "failed");
    if !works {
        eprintln!("{backend} is not tested: it does not work here");
    }
    works.then_some(cox)
}

/// A process that does not outlive a test that fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ended = self.0.kill();
    }
}

fn check(number: u32, end: impl Fn(&mut Child), code: Option<i32>) {
    for (nth, backend) in (1..).zip(BACKENDS) {
        let call = |id: &str, seconds: &str, is_task: bool| {
            let line = runaways(seconds);
            Answer::text("").and_call(
                id,
                "bash",
                json!({ "command": line, "background": is_task }),
            )
        };
        let id = std::process::id();
        let [task, command] = [1, 2].map(|which| format!("1{number}{nth}{which}.{id}"));
        let model = FakeModel::start([call("c1", &task, true), call("c2", &command, false)]);
        let Some(cox) = cox(&model, backend) else {
            continue;
        };
        let mut child = Killed(
            cox.command(&["run", "-p", "go", "--permission-mode", "bypass"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        for seconds in [&task, &command] {
            let what = format!("{backend}: six processes that sleep {seconds} s");
            wait_until(&what, Duration::from_secs(60), || sleepers(seconds) == 6);
        }
        end(&mut child.0);
        assert_eq!(child.0.wait().unwrap().code(), code, "{backend}");
        for seconds in [&task, &command] {
            let what = format!("{backend}: the end of what sleeps {seconds} s");
            wait_until(&what, Duration::from_secs(20), || sleepers(seconds) == 0);
        }
    }
}

#[test]
fn sigterm_ends_everything_that_commands_and_tasks_started() {
    let terminate = |child: &mut Child| {
        let id = child.id().to_string();
        let sent = std::process::Command::new("/bin/sh")
            .args(["-c", &format!("kill -TERM {id}")])
            .status();
        assert!(sent.unwrap().success());
    };
    check(1, terminate, Some(143));
}

#[test]
fn sigkill_ends_everything_that_commands_and_tasks_started() {
    check(2, |child| child.kill().unwrap(), None);
}

/// Most memory that the process has had, in bytes; none when it has ended.
fn peak(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[test]
fn much_output_is_archived_whole_in_bounded_memory() {
    const BYTES: u64 = 200_000_000;
    let line = "yes 'one line of many, all the same to the letter' | head -c 200000000";
    for backend in ["bwrap", "landlock"] {
        let model = FakeModel::start([]);
        let Some(cox) = cox(&model, backend) else {
            continue;
        };
        let input = json!({ "command": line }).to_string();
        let child = cox
            .command(&[
                "tool",
                "run",
                "bash",
                "--input",
                &input,
                "--permission-mode",
                "bypass",
                "--json",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let most = std::cell::Cell::new(0);
        wait_until("the command to end", Duration::from_secs(240), || {
            match peak(&child) {
                Some(bytes) => most.set(most.get().max(bytes)),
                None => return true,
            }
            false
        });
        let output = child.wait_with_output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        // The line that says how it ended is archived behind it.
        let archived = document["bytes"].as_u64().unwrap();
        assert!(
            (BYTES..BYTES + 100).contains(&archived),
            "{backend}: {document}"
        );
        let id = document["archive"].as_str().unwrap();
        let file = cox.home.path().join(".cox/archive").join(id);
        assert_eq!(fs::metadata(file).unwrap().len(), archived, "{backend}");
        assert!(
            (1..100_000_000).contains(&most.get()),
            "{backend}: {}",
            most.get()
        );
    }
}
