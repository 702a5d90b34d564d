use std::fs;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

fn task(id: &str, state: TaskState) -> Task {
    Task {
        id: id.to_owned(),
        owner: "s1".to_owned(),
        server: "files".to_owned(),
        tool: "index".to_owned(),
        state,
        result: None,
        message: None,
        trace: Some("cal-1".to_owned()),
        created: at(0),
        updated: at(0),
        ttl_ms: None,
    }
}

fn tasks() -> (testkit::TempHome, StateDir, Tasks) {
    let home = testkit::TempHome::new();
    let state = StateDir::open(home.path().join("state")).unwrap();
    let redactor = Redactor::with_values(vec!["zebra-crossing".to_owned()]);
    let tasks = Tasks::open(&state, "k1", redactor).unwrap();
    (home, state, tasks)
}

#[test]
fn a_result_is_kept_as_it_was_spelled() {
    let (_home, _state, tasks) = tasks();
    let id = new_id().unwrap();
    let result = r#"{"content":[],"x":1.0,"n":123456789012345678901234567890,"s":"\u00e9"}"#;
    let task = Task {
        result: Some(Raw::parse(result).unwrap()),
        ttl_ms: Some(60_000),
        ..task(&id, TaskState::Completed)
    };
    tasks.put(&task).unwrap();
    let read = tasks.get(&id).unwrap().unwrap();
    assert_eq!(read.result.as_ref().unwrap().as_str(), result);
    assert_eq!(read, task);
    assert!(tasks.remove(&id).unwrap());
    assert_eq!(tasks.get(&id).unwrap(), None);
}

#[test]
fn what_ran_when_the_hub_ended_has_an_unknown_outcome_and_the_rest_stays() {
    let (_home, state, tasks) = tasks();
    tasks.put(&task("a", TaskState::Working)).unwrap();
    tasks.put(&task("b", TaskState::InputRequired)).unwrap();
    tasks.put(&task("c", TaskState::Completed)).unwrap();
    let other = Tasks::open(&state, "k2", Redactor::default()).unwrap();
    other.put(&task("d", TaskState::Working)).unwrap();
    let marked = tasks.recover(at(9)).unwrap();
    let ids: Vec<_> = marked.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    let read = tasks.get("a").unwrap().unwrap();
    assert_eq!((read.state, read.updated), (TaskState::Interrupted, at(9)));
    assert!(read.message.unwrap().contains("outcome is unknown"));
    assert_eq!(tasks.get("c").unwrap().unwrap().state, TaskState::Completed);
    // That one is of another daemon, which may live.
    assert_eq!(other.get("d").unwrap().unwrap().state, TaskState::Working);
    assert!(tasks.recover(at(10)).unwrap().is_empty());
}

#[test]
fn a_task_goes_when_its_time_is_over_and_not_while_it_runs() {
    let (_home, _state, tasks) = tasks();
    let keep = SignedDuration::from_secs(100);
    let with_ttl = |id, state| Task {
        ttl_ms: Some(5_000),
        ..task(id, state)
    };
    tasks.put(&with_ttl("short", TaskState::Failed)).unwrap();
    tasks.put(&with_ttl("runs", TaskState::Working)).unwrap();
    tasks.put(&task("long", TaskState::Cancelled)).unwrap();
    assert_eq!(tasks.sweep(at(5), keep), Vec::<String>::new());
    assert_eq!(tasks.sweep(at(6), keep), ["short"]);
    assert_eq!(tasks.sweep(at(101), keep), ["long"]);
    assert_eq!(tasks.list().tasks.len(), 1);
}

#[test]
fn a_broken_task_is_told_and_hides_no_other() {
    let (_home, state, tasks) = tasks();
    tasks.put(&task("a", TaskState::Working)).unwrap();
    fs::write(state.path("tasks/k1/b.json"), "{").unwrap();
    fs::copy(state.path("tasks/k1/a.json"), state.path("tasks/k1/c.json")).unwrap();
    let listing = tasks.list();
    assert_eq!(listing.tasks, [task("a", TaskState::Working)]);
    assert_eq!(listing.broken.len(), 2);
    assert!(
        tasks
            .get("b")
            .unwrap_err()
            .to_string()
            .contains("understand the task")
    );
    assert!(tasks.get("../a").is_err());
}

#[test]
fn a_message_is_stored_without_its_secrets() {
    let (_home, _state, tasks) = tasks();
    let told = Task {
        message: Some("cannot use zebra-crossing".to_owned()),
        ..task("a", TaskState::Failed)
    };
    tasks.put(&told).unwrap();
    let read = tasks.get("a").unwrap().unwrap();
    assert_eq!(
        read.message.unwrap(),
        "cannot use [redacted: configured key]"
    );
}
