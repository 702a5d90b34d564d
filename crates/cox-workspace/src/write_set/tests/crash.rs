//! A process is killed before every single step of a set of 40 files, and of the recovery after it.
//!
//! The process is this test binary once more, told by a variable to run [`the_process_that_is_killed`] and to stop.

use std::process::{Command, Stdio};

use super::*;
use crate::{
    failpoint::stopping::VARIABLE,
    write_set::recover::{FileState, Progress, Recovery, Skipped, progress},
};

/// The variable with the folder of the world.
const WORLD: &str = "COX_CRASH_WORLD";
/// The variable that says what the process does: `apply`, `finish` or `undo`.
const DOES: &str = "COX_CRASH_DOES";

/// A world on disk that another process can open: `main` is the root, `archive` and `journal` lie beside it.
struct Disk {
    top: PathBuf,
}

impl Disk {
    fn roots(&self) -> Roots {
        Roots {
            cwd: self.top.join("main"),
            home: self.top.clone(),
            readable: vec![self.top.join("main")],
            writable: vec![self.top.join("main")],
        }
    }

    fn image(&self, id: &str) -> io::Result<Vec<u8>> {
        fs::read(self.top.join("archive").join(id))
    }

    fn record(&self) -> Option<Unfinished> {
        let bytes = fs::read(self.top.join("journal")).ok()?;
        Some(Unfinished::read(&bytes).unwrap())
    }
}

impl PreImages for Disk {
    fn keep(&self, _path: &Path, bytes: &[u8]) -> io::Result<String> {
        let id = Digest::of(bytes).to_string();
        fs::write(self.top.join("archive").join(&id), bytes)?;
        Ok(id)
    }
}

/// A recovery that is stopped by a file of somebody else's.
fn strict<'a>(images: &'a Images<'a>) -> Recovery<'a> {
    Recovery {
        images,
        keep: &|_, _| Ok("kept".to_owned()),
        skip_theirs: false,
    }
}

struct OnDisk(PathBuf);

impl Journal for Disk {
    fn begin(&self, record: &[u8], _durable: bool) -> io::Result<Box<dyn Begun>> {
        let mut begun = OnDisk(self.top.join("journal"));
        begun.rewrite(record)?;
        Ok(Box::new(begun))
    }
}

impl Begun for OnDisk {
    fn rewrite(&mut self, record: &[u8]) -> io::Result<()> {
        crate::failpoint::step();
        let part = self.0.with_extension("part");
        fs::write(&part, record)?;
        fs::rename(&part, &self.0)
    }

    fn end(self: Box<Self>) {
        crate::failpoint::step();
        fs::remove_file(self.0).unwrap();
    }
}

use crate::file::Digest;

fn old(name: &str) -> String {
    format!("the old text of {name}, some lines\nand a second one\n")
}

fn new(name: &str) -> String {
    format!("the new text of {name}\nwhich is another\nand one line longer than before\n")
}

/// What becomes of the file with this number.
fn fate(number: usize) -> &'static str {
    [
        "replaced",
        "linked",
        "created",
        "deleted",
        "moved",
        "replaced",
        "in new folders",
        "replaced",
    ][number % 8]
}

fn build(top: &Path, files: usize) {
    for folder in ["main/sub", "archive"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    for number in 0..files {
        let name = format!("f{number}");
        let path = top.join("main").join(&name);
        if !matches!(fate(number), "created" | "in new folders") {
            fs::write(&path, old(&name)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        }
        if fate(number) == "linked" {
            fs::hard_link(&path, top.join(format!("archive/other-{name}"))).unwrap();
        }
    }
}

fn change(disk: &Disk, files: usize) -> Result<Receipt, WriteError> {
    let roots = disk.roots();
    let at = |path: &str| confine(&roots, path, Access::Write).unwrap();
    let mut set = WriteSet::new(&roots);
    for number in 0..files {
        let name = format!("f{number}");
        let (old, new) = (old(&name).into_bytes(), new(&name).into_bytes());
        match fate(number) {
            "created" => set.create(at(&name), new),
            "in new folders" => set.create(at(&format!("deep/{number}/{name}")), new),
            "deleted" => set.delete(at(&name), old),
            "moved" => set.relocate(at(&name), old, at(&format!("sub/{name}")), new),
            _ => set.update(at(&name), old, new),
        }
    }
    set.apply(disk, disk)
}

/// Every file and folder below `main`, with its mode and text.
fn tree(top: &Path) -> Vec<(String, u32, String)> {
    fn walk(folder: &Path, root: &Path, out: &mut Vec<(String, u32, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let mode = fs::metadata(&path).unwrap().mode() & 0o7777;
            if path.is_dir() {
                out.push((format!("{name}/"), mode, String::new()));
                walk(&path, root, out);
            } else {
                out.push((name, mode, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let root = top.join("main");
    let mut out = Vec::new();
    walk(&root, &root, &mut out);
    out.sort();
    out
}

/// Runs a process that does something to a world and is killed before a step; says whether it was.
fn killed(top: &Path, does: &str, files: usize, step: usize) -> bool {
    let test = "write_set::tests::crash::the_process_that_is_killed";
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--test-threads", "1"])
        .env(WORLD, top)
        .env(DOES, format!("{does} {files}"))
        .env(VARIABLE, step.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if !ended.status.success() {
        let signal = std::os::unix::process::ExitStatusExt::signal(&ended.status);
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert_eq!(signal, Some(9), "{does} before step {step}: {said}");
    }
    !ended.status.success()
}

/// Does nothing unless it was started by [`killed`].
#[test]
fn the_process_that_is_killed() {
    let Ok(top) = std::env::var(WORLD) else {
        return;
    };
    let does = std::env::var(DOES).unwrap();
    let (does, files) = does.split_once(' ').unwrap();
    let disk = Disk { top: top.into() };
    let images = |id: &str| disk.image(id);
    match does {
        "apply" => drop(change(&disk, files.parse().unwrap()).unwrap()),
        "finish" => disk
            .record()
            .unwrap()
            .finish(&strict(&images))
            .map(drop)
            .unwrap(),
        "undo" => disk
            .record()
            .unwrap()
            .undo(&strict(&images))
            .map(drop)
            .unwrap(),
        other => panic!("{other}"),
    }
}

struct Scene {
    disk: Disk,
    _dir: TempDir,
}

fn scene(files: usize) -> Scene {
    let dir = TempDir::new().unwrap();
    let top = dir.path().canonicalize().unwrap();
    build(&top, files);
    Scene {
        disk: Disk { top },
        _dir: dir,
    }
}

/// The trees before and after a set that nobody disturbs.
fn before_and_after(files: usize) -> [Vec<(String, u32, String)>; 2] {
    let scene = scene(files);
    let before = tree(&scene.disk.top);
    change(&scene.disk, files).unwrap();
    assert!(scene.disk.record().is_none(), "a made set leaves no record");
    [before, tree(&scene.disk.top)]
}

/// What a killed set may look like before anyone mends it: each file whole, unless it is written in place.
fn assert_whole(scene: &Scene, step: usize) -> Option<Progress> {
    let record = scene.disk.record()?;
    let standing = record.look(&|id| scene.disk.image(id)).unwrap();
    for file in &standing {
        let torn_is_fine = fs::metadata(&file.path).is_ok_and(|meta| meta.nlink() > 1);
        match file.state {
            FileState::Old | FileState::New => {}
            FileState::Torn if torn_is_fine => {}
            state => panic!("before step {step} {} is {state:?}", file.path.display()),
        }
    }
    Some(progress(&standing))
}

/// Processes that are killed side by side.
const WORKERS: usize = 4;

/// Calls `check` with every step from 1 on, until it says that the process came to its end.
fn every_step(check: impl Fn(usize) -> bool + Sync) {
    std::thread::scope(|scope| {
        for worker in 1..=WORKERS {
            let check = &check;
            scope.spawn(move || (worker..).step_by(WORKERS).find(|step| !check(*step)));
        }
    });
}

#[test]
fn a_set_of_forty_files_that_is_killed_at_any_step_is_all_old_or_all_new() {
    const FILES: usize = 40;
    let [before, after] = before_and_after(FILES);
    let seen = Mutex::new([0, 0, 0]);
    every_step(|step| {
        let scene = scene(FILES);
        let images = |id: &str| scene.disk.image(id);
        if !killed(&scene.disk.top, "apply", FILES, step) {
            assert_eq!(tree(&scene.disk.top), after);
            return false;
        }
        let Some(progress) = assert_whole(&scene, step) else {
            // Before the record was there, or after it was taken away.
            let now = tree(&scene.disk.top);
            assert!(
                now == before || now == after,
                "no record before step {step}"
            );
            return true;
        };
        seen.lock().unwrap()[progress as usize] += 1;
        let record = scene.disk.record().unwrap();
        // By turns, and one after the other: what was undone can no longer be finished.
        let expected = match progress {
            Progress::Untouched => {
                record.forget().unwrap();
                &before
            }
            Progress::Partial if step % 2 == 0 => {
                record.undo(&strict(&images)).unwrap();
                &before
            }
            Progress::Complete | Progress::Partial => {
                record.finish(&strict(&images)).unwrap();
                &after
            }
        };
        assert_eq!(&tree(&scene.disk.top), expected, "before step {step}");
        true
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.iter().all(|&times| times > 10), "{seen:?}");
}

#[test]
fn a_recovery_that_is_killed_at_any_step_is_done_again() {
    const FILES: usize = 8;
    let [before, after] = before_and_after(FILES);
    let recoveries = Mutex::new(0);
    every_step(|step| {
        let scene = scene(FILES);
        if !killed(&scene.disk.top, "apply", FILES, step) {
            return false;
        }
        // One step in three is enough here.
        if step % 3 != 0 || assert_whole(&scene, step) != Some(Progress::Partial) {
            return true;
        }
        for (does, expected) in [("finish", &after), ("undo", &before)] {
            for at in 1.. {
                let scene = self::scene(FILES);
                assert!(killed(&scene.disk.top, "apply", FILES, step));
                let was_killed = killed(&scene.disk.top, does, FILES, at);
                if was_killed {
                    *recoveries.lock().unwrap() += 1;
                    assert_whole(&scene, step);
                    let record = scene.disk.record().unwrap();
                    let images = |id: &str| scene.disk.image(id);
                    match does {
                        "finish" => record.finish(&strict(&images)),
                        _ => record.undo(&strict(&images)),
                    }
                    .unwrap_or_else(|error| panic!("{does}, {step}, {at}: {error}"));
                }
                assert_eq!(&tree(&scene.disk.top), expected, "{does}, {step}, {at}");
                if !was_killed {
                    break;
                }
            }
        }
        true
    });
    assert!(recoveries.into_inner().unwrap() > 50);
}

#[test]
fn a_file_that_somebody_changed_since_is_not_overwritten() {
    const FILES: usize = 8;
    // Somewhere in the middle: found by looking for the first step that leaves a partial set.
    let step = (1..)
        .find(|step| {
            let scene = scene(FILES);
            killed(&scene.disk.top, "apply", FILES, *step)
                && assert_whole(&scene, *step) == Some(Progress::Partial)
        })
        .unwrap();
    let scene = scene(FILES);
    assert!(killed(&scene.disk.top, "apply", FILES, step));
    let images = |id: &str| scene.disk.image(id);
    let record = scene.disk.record().unwrap();
    let standing = record.look(&images).unwrap();
    // A file that is written in place and holds something else may be torn: that is refused either way.
    let of = |wanted: FileState| {
        let file = standing.iter().find(|file| {
            let name = file.path.file_name().unwrap().to_str().unwrap();
            file.state == wanted && fate(name[1..].parse().unwrap()) == "replaced"
        });
        file.unwrap().path.clone()
    };
    let (changed_by_us, not_yet) = (of(FileState::New), of(FileState::Old));
    let (new_bytes, old_bytes) = (
        fs::read(&changed_by_us).unwrap(),
        fs::read(&not_yet).unwrap(),
    );

    fs::write(&changed_by_us, "theirs").unwrap();
    let before = tree(&scene.disk.top);
    assert!(
        matches!(record.undo(&strict(&images)), Err(RecoverError::Theirs(paths)) if paths == [changed_by_us.clone()])
    );
    assert_eq!(tree(&scene.disk.top), before);

    fs::write(&changed_by_us, new_bytes).unwrap();
    fs::write(&not_yet, "theirs").unwrap();
    let before = tree(&scene.disk.top);
    assert!(
        matches!(record.finish(&strict(&images)), Err(RecoverError::Theirs(paths)) if paths == [not_yet.clone()])
    );
    assert_eq!(tree(&scene.disk.top), before);

    // Undoing needs nothing of a file that was not reached.
    record.undo(&strict(&images)).unwrap();
    assert_eq!(fs::read_to_string(&not_yet).unwrap(), "theirs");
    fs::write(&not_yet, old_bytes).unwrap();
    assert_eq!(tree(&scene.disk.top), before_and_after(FILES)[0]);
}

/// A set of eight files that was killed half-way, its record, and a file of each state: `.0` is new, `.1` is old.
fn half_way() -> (Scene, Unfinished, [PathBuf; 2]) {
    const FILES: usize = 8;
    for step in 1.. {
        let scene = scene(FILES);
        assert!(killed(&scene.disk.top, "apply", FILES, step));
        if assert_whole(&scene, step) != Some(Progress::Partial) {
            continue;
        }
        let record = scene.disk.record().unwrap();
        let standing = record.look(&|id| scene.disk.image(id)).unwrap();
        let of = |wanted: FileState| {
            let file = standing.iter().find(|file| {
                let name = file.path.file_name().unwrap().to_str().unwrap();
                file.state == wanted && fate(name[1..].parse().unwrap()) == "replaced"
            })?;
            Some(file.path.clone())
        };
        if let (Some(new), Some(old)) = (of(FileState::New), of(FileState::Old)) {
            return (scene, record, [new, old]);
        }
    }
    unreachable!()
}

#[test]
fn the_other_files_are_done_and_what_is_left_is_named_when_that_is_asked_for() {
    for does_finish in [true, false] {
        let (scene, record, [changed, not_yet]) = half_way();
        let (theirs, name) = if does_finish {
            (&not_yet, not_yet.file_name().unwrap().to_str().unwrap())
        } else {
            (&changed, changed.file_name().unwrap().to_str().unwrap())
        };
        fs::write(theirs, "theirs").unwrap();
        let images = |id: &str| scene.disk.image(id);
        let recovery = Recovery {
            images: &images,
            keep: &|path, bytes| scene.disk.keep(path, bytes),
            skip_theirs: true,
        };
        let mended = if does_finish {
            record.finish(&recovery)
        } else {
            record.undo(&recovery)
        }
        .unwrap();
        let [before, after] = before_and_after(8);
        let mut expected = if does_finish { after } else { before };
        let entry = expected.iter_mut().find(|(at, ..)| at == name).unwrap();
        entry.2 = "theirs".to_owned();
        assert_eq!(tree(&scene.disk.top), expected);
        // What the set had for the file and what it held before can both be had.
        let [skipped] = mended.skipped.as_slice() else {
            panic!("{mended:?}");
        };
        let Skipped {
            path,
            before,
            after,
        } = skipped.clone();
        assert_eq!(&path, theirs);
        assert_eq!(images(&before.unwrap()).unwrap(), old(name).into_bytes());
        if does_finish {
            assert_eq!(images(&after.unwrap()).unwrap(), new(name).into_bytes());
        }
    }
}

#[test]
fn a_file_that_the_set_deleted_and_a_person_made_again_is_left_to_them() {
    const FILES: usize = 8;
    // After the last file was replaced and before anything of ours is gone.
    let scene = (1..)
        .map(|step| (scene(FILES), step))
        .find(|(scene, step)| {
            killed(&scene.disk.top, "apply", FILES, *step)
                && scene.disk.record().is_some()
                && !scene.disk.top.join("main/f3").exists()
        })
        .unwrap()
        .0;
    let mine = scene.disk.top.join("main/f3");
    fs::write(&mine, "mine").unwrap();
    let record = scene.disk.record().unwrap();
    let images = |id: &str| scene.disk.image(id);
    assert!(
        matches!(record.undo(&strict(&images)), Err(RecoverError::Theirs(paths)) if paths == [mine.clone()])
    );
    let mended = record.finish(&strict(&images)).unwrap();
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    assert_eq!(mended.skipped.len(), 1, "{mended:?}");
}

#[test]
fn what_stands_in_a_torn_file_is_kept_before_it_is_overwritten() {
    const FILES: usize = 8;
    let scene = (1..)
        .map(|step| (scene(FILES), step))
        .find(|(scene, step)| {
            killed(&scene.disk.top, "apply", FILES, *step)
                && scene.disk.record().is_some_and(|record| {
                    let standing = record.look(&|id| scene.disk.image(id)).unwrap();
                    standing.iter().any(|file| file.state == FileState::Torn)
                })
        })
        .unwrap()
        .0;
    let torn = scene.disk.top.join("main/f1");
    let held = fs::read(&torn).unwrap();
    let images = |id: &str| scene.disk.image(id);
    let recovery = Recovery {
        images: &images,
        keep: &|path, bytes| scene.disk.keep(path, bytes),
        skip_theirs: false,
    };
    let mended = scene.disk.record().unwrap().undo(&recovery).unwrap();
    let [(path, id)] = mended.kept.as_slice() else {
        panic!("{mended:?}");
    };
    assert_eq!((path, images(id).unwrap()), (&torn, held));
    assert_eq!(fs::read_to_string(&torn).unwrap(), old("f1"));
}
