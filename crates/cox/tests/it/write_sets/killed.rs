//! A real run that is killed in the middle of a patch of forty files, at whatever moment it is met.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Answer, FakeModel};

use crate::harness::{Cox, Ran};

const FILES: usize = 40;

/// Runs that are killed at most until each thing was seen that a test looks for.
const TRIES: usize = 24;

/// How long a run may take to come to the moment at which it is killed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Old and new are of the same length: a file that is written in place is one or the other then.
fn text(nth: usize, word: &str) -> String {
    format!("file {nth:02}\n{word} line\nlast\n")
}

fn name(nth: usize) -> String {
    format!("f{nth:02}.txt")
}

/// Every third file has a second name: it is written in place, which takes the set longer.
fn has_two_names(nth: usize) -> bool {
    nth % 3 == 1
}

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// As soon as the change is written down.
    Journal,
    /// As soon as so many files stand beside those that are changed.
    Beside(usize),
    /// As soon as this file is new.
    New(usize),
}

const MOMENTS: [Moment; 8] = [
    Moment::New(0),
    Moment::New(1),
    Moment::New(13),
    Moment::Journal,
    Moment::New(25),
    Moment::Beside(10),
    Moment::New(34),
    Moment::Beside(26),
];

struct World {
    model: FakeModel,
    cox: Cox,
}

impl World {
    fn new() -> Self {
        let mut patch = "*** Begin Patch\n".to_owned();
        for nth in 0..FILES {
            patch.push_str(&format!(
                "*** Update File: {}\n-old line\n+new line\n",
                name(nth)
            ));
        }
        patch.push_str("*** End Patch\n");
        let model =
            FakeModel::start([Answer::call("c1", "apply_patch", json!({ "patch": patch }))]);
        let cox = Cox::with_model(&model);
        fs::create_dir(cox.work.path().join("names")).unwrap();
        for nth in 0..FILES {
            let file = cox.work.write(&name(nth), text(nth, "old"));
            if has_two_names(nth) {
                fs::hard_link(file, cox.work.path().join("names").join(name(nth))).unwrap();
            }
        }
        Self { model, cox }
    }

    fn file(&self, nth: usize) -> PathBuf {
        self.cox.work.path().join(name(nth))
    }

    fn is_new(&self, nth: usize) -> bool {
        fs::read(self.file(nth)).is_ok_and(|bytes| bytes == text(nth, "new").as_bytes())
    }

    fn beside(&self) -> usize {
        let entries = fs::read_dir(self.cox.work.path()).unwrap();
        entries
            .filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy().starts_with(".cox-")
            })
            .count()
    }

    fn has_journal(&self) -> bool {
        let folder = self.cox.home.path().join(".cox/write-sets");
        fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.any(|entry| {
                entry.is_ok_and(|entry| entry.path().extension().is_some_and(|ext| ext == "json"))
            })
        })
    }

    /// Starts a run and kills it at a moment. Says how many files are new then.
    fn kill_at(&self, moment: Moment) -> usize {
        let mut child = self
            .cox
            .command(&["run", "-p", "patch", "--permission-mode", "auto"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let is_there = || match moment {
            Moment::Journal => self.has_journal(),
            Moment::Beside(files) => self.beside() >= files,
            Moment::New(nth) => self.is_new(nth),
        };
        // Looked for without a pause: the whole change takes a few milliseconds.
        let end = Instant::now() + PATIENCE;
        while !is_there() && child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "the run does not come to {moment:?}");
        }
        // A run that was faster has ended by itself.
        drop(child.kill());
        child.wait().unwrap();
        self.assert_whole()
    }

    /// Checks that every file is old or new and that links are kept, and returns how many are new.
    #[track_caller]
    fn assert_whole(&self) -> usize {
        let mut new = 0;
        for nth in 0..FILES {
            let now = fs::read_to_string(self.file(nth)).unwrap();
            let is_new = now == text(nth, "new");
            assert!(is_new || now == text(nth, "old"), "{}: {now:?}", name(nth));
            new += usize::from(is_new);
            let links = fs::metadata(self.file(nth)).unwrap().nlink();
            assert_eq!(links, 1 + u64::from(has_two_names(nth)), "{}", name(nth));
        }
        new
    }

    fn unfinished(&self) -> Value {
        let told = self.cox.run(&["doctor", "--json"]).json();
        let checks = told["checks"].as_array().unwrap();
        let check = checks
            .iter()
            .find(|check| check["name"] == "unfinished changes");
        check.unwrap().clone()
    }

    /// The id of the only unfinished set, after everything that is to tell of it did.
    #[track_caller]
    fn told_everywhere(&self, new: usize) -> String {
        self.model.push(Answer::text("Hello."));
        let says = |ran: &Ran| ran.stderr.contains("a change of files was cut off");
        let ran = self.cox.run(&["run", "-p", "hello"]);
        assert!(ran.code == 0 && says(&ran), "{ran}");
        let ran = self.cox.run(&["sessions"]);
        assert!(ran.code == 0 && says(&ran), "{ran}");
        let check = self.unfinished();
        assert_eq!(check["state"], "warning", "{check}");
        let detail = check["detail"].as_str().unwrap();
        let (id, rest) = detail.split_once(": ").unwrap();
        let counted = format!("{new} of {FILES} file(s) were changed\n");
        assert!(rest.starts_with(&counted), "{detail}");
        id.to_owned()
    }

    #[track_caller]
    fn assert_tidy(&self) {
        assert_eq!(self.beside(), 0);
        assert!(!self.has_journal());
        assert_eq!(self.unfinished()["state"], "ok");
    }
}

#[test]
fn a_run_that_is_killed_in_a_patch_of_forty_files_leaves_whole_files_and_is_finished_or_undone() {
    let ways = [("--finish-write-set", FILES), ("--undo-write-set", 0)];
    // How often a set was met in its middle; each way of ending it is taken once.
    let mut met = 0;
    for moment in MOMENTS.iter().cycle().take(TRIES) {
        let world = World::new();
        let new = world.kill_at(*moment);
        if new == 0 || new == FILES {
            // Nothing is to be decided: what is left is taken away by whoever comes next.
            let ran = world.cox.run(&["sessions"]);
            assert!(!ran.stderr.contains("cut off"), "{moment:?} {new}: {ran}");
            assert_eq!(world.assert_whole(), new);
            world.assert_tidy();
            continue;
        }
        let (way, all) = ways[met];
        let id = world.told_everywhere(new);
        let ran = world.cox.run(&["doctor", way, &id]);
        assert_eq!(ran.code, 0, "{moment:?} {new}: {ran}");
        assert_eq!(world.assert_whole(), all, "{moment:?} {new}: {way}");
        world.assert_tidy();
        met += 1;
        if met == ways.len() {
            return;
        }
    }
    panic!("in {TRIES} runs the middle of the change was met {met} times only");
}

#[test]
fn a_linked_file_that_a_person_changed_after_the_kill_is_not_touched() {
    for moment in [Moment::New(1), Moment::New(13)].iter().cycle().take(TRIES) {
        let world = World::new();
        let new = world.kill_at(*moment);
        if new == 0 || new == FILES {
            continue;
        }
        let id = world.told_everywhere(new);
        // One that the set has changed, by its other name.
        let edited = (0..FILES)
            .find(|nth| has_two_names(*nth) && world.is_new(*nth))
            .unwrap();
        let other_name = world.cox.work.path().join("names").join(name(edited));
        fs::write(&other_name, "mine\n").unwrap();
        for way in ["--finish-write-set", "--undo-write-set"] {
            let ran = world.cox.run(&["doctor", way, &id]);
            assert_eq!(ran.code, 1, "{ran}");
            let named = format!("changed since by somebody else: `[work]/{}`", name(edited));
            assert!(ran.stderr.contains(&named), "{ran}");
        }
        let ran = world
            .cox
            .run(&["doctor", "--undo-write-set", &id, "--skip-changed"]);
        assert_eq!(ran.code, 0, "{ran}");
        // What it held before, and what the change made of it, can both be had.
        for word in ["old", "new"] {
            let (_, after) = ran.stdout.split_once("left as it is: ").unwrap();
            let ids = after.split("cox expand ").skip(1);
            let texts: Vec<String> = ids
                .map(|rest| {
                    let id = rest.split('`').next().unwrap();
                    world.cox.run(&["expand", id]).stdout
                })
                .collect();
            assert!(texts.contains(&text(edited, word)), "{texts:?}");
        }
        for nth in (0..FILES).filter(|nth| *nth != edited) {
            let now = fs::read_to_string(world.file(nth)).unwrap();
            assert_eq!(now, text(nth, "old"));
        }
        for path in [world.file(edited), other_name] {
            assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
            assert_eq!(fs::metadata(path).unwrap().nlink(), 2);
        }
        world.assert_tidy();
        return;
    }
    panic!("in {TRIES} runs the middle of the change was not met");
}
