use super::*;

#[test]
fn a_hot_setting_changes_while_it_runs_and_can_be_taken_back() {
    let mut settings = Settings::defaults();
    let applied = settings.set_runtime("pool.callTimeout", "5s").unwrap();
    assert!(applied.applied);
    assert_eq!(
        settings.duration(key::POOL_CALL_TIMEOUT),
        Duration::from_secs(5)
    );
    settings.set_runtime("pool.callTimeout", "6s").unwrap();
    let resolved = settings.get("pool.callTimeout").unwrap();
    assert_eq!(resolved.source, Source::Runtime);
    assert_eq!(resolved.shadowed.len(), 1);
    let mut fresh = Settings::defaults();
    fresh.keep_runtime_of(&settings);
    assert_eq!(
        fresh.duration(key::POOL_CALL_TIMEOUT),
        Duration::from_secs(6)
    );
    assert!(settings.unset_runtime("pool.callTimeout"));
    assert!(!settings.unset_runtime("pool.callTimeout"));
    assert_eq!(settings, Settings::defaults());
}

#[test]
fn a_cold_setting_wants_a_restart_and_a_clients_is_not_the_daemons() {
    let mut settings = Settings::defaults();
    let cold = settings.set_runtime("daemon.port", "1").unwrap();
    assert!(!cold.applied && cold.restart_required);
    let client = settings.set_runtime("output.json", "true").unwrap();
    assert!(!client.applied && !client.restart_required);
    assert_eq!(settings, Settings::defaults());
}

#[test]
fn a_change_of_the_wrong_kind_is_refused() {
    let mut settings = Settings::defaults();
    let error = |result: Result<Applied, ConfigError>| result.unwrap_err().to_string();
    assert_eq!(
        error(settings.set_runtime("pool.max", "-1")),
        "`-1` for `pool.max`; expected a whole number, not negative"
    );
    assert_eq!(
        error(settings.set_runtime("logging.level", "loud")),
        "`loud` for `logging.level`; expected one of `debug`, `info`, `warn`, `error`"
    );
    assert!(error(settings.set_runtime("pool.max", "0")).ends_with("expected more than zero"));
    assert!(error(settings.set_runtime("daemon.reapInterval", "0")).ends_with("more than zero"));
    assert!(error(settings.set_runtime("daemon.port", "65536")).ends_with("at most 65535"));
    assert!(error(settings.set_runtime("pool.mxa", "1")).contains("did you mean `pool.max`?"));
}

#[test]
fn a_call_brings_its_own_settings_and_no_others() {
    let settings = Settings::defaults();
    let call = settings.for_call([
        ("search.limit", "3"),
        ("daemon.port", "1"),
        ("catalog.budget", "x"),
        ("nothing", "1"),
    ]);
    assert_eq!(call.int(key::SEARCH_LIMIT), 3);
    assert_eq!(call.int(key::DAEMON_PORT), 0);
    assert_eq!(call.int(key::CATALOG_BUDGET), 2000);
    assert_eq!(call.sent_with_call(), [("search.limit", "3".to_owned())]);
    assert!(settings.sent_with_call().is_empty());
}

#[test]
fn another_spelling_of_a_choice_becomes_the_one_that_is_declared() {
    let setting = crate::settings::registry::by_path("upstream.protocol").unwrap();
    assert_eq!(
        read_text(setting, "legacy"),
        Ok(Value::Text("prefer-initialize".to_owned()))
    );
}
