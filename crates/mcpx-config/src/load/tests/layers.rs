//! Which of several values counts, and what is said about the others.

use super::*;

#[test]
fn flag_beats_preset_beats_variable_beats_near_file_beats_far_file() {
    let place = Place::new()
        .file(USER, "{\"pool\": {\"max\": 1},\n\"presets\": {\"p\": [\"--pool-max=4\", \"--json\", \"--unknown\"]}}")
        .file("work/.mcpx.json", r#"{"pool": {"max": 2}}"#)
        .env("MCPX_POOL_MAX", "3");
    let max = |place: &Place| place.load().settings.int(settings::key::POOL_MAX);
    assert_eq!(max(&place), 3);
    let place = place.env("MCPX_PRESET", "p");
    assert_eq!(max(&place), 4);
    assert!(place.load().settings.bool(settings::key::OUTPUT_JSON));
    assert_eq!(place.load().warnings.len(), 1);
    let place = place.flag("pool.max", "5").flag("pool.max", "6");
    let config = place.load();
    let resolved = config.settings.get("pool.max").unwrap();
    assert_eq!(resolved.value.to_string(), "6");
    let history: Vec<String> = resolved
        .shadowed
        .iter()
        .map(|shadowed| format!("{} {}", shadowed.value, shadowed.source))
        .collect();
    assert_eq!(
        history,
        [
            "5 --pool-max".to_owned(),
            "4 preset:p".to_owned(),
            "3 MCPX_POOL_MAX".to_owned(),
            format!("2 {}:1", place.path("work/.mcpx.json").display()),
            format!("1 {}:1", place.path(USER).display()),
            "4 default".to_owned()
        ]
    );
}

#[test]
fn the_pool_fills_what_a_server_leaves_open() {
    let text = r#"{"pool": {"scope": "session", "max": 7, "idleTimeout": "1m30s", "tools": ["get_*"], "extraIncludeTools": ["put"], "default": false, "profiles": ["web"]},
        "mcpServers": {"a": {"command": "x"}, "b": {"command": "y", "mcpx": {"scope": "global", "max": 3, "idleTimeout": "0", "tools": ["x"], "default": true}}}}"#;
    let config = Place::new().file(USER, text).load();
    let (a, b) = (&config.servers["a"], &config.servers["b"]);
    assert_eq!(
        (a.scope, a.max, a.idle_timeout.as_secs()),
        (Scope::Session, 7, 90)
    );
    assert_eq!(
        (b.scope, b.max, b.idle_timeout.as_secs()),
        (Scope::Global, 1, 0)
    );
    assert!(a.tools.admits("get_x") && a.tools.admits("put") && !a.tools.admits("x"));
    assert!(b.tools.admits("x") && b.tools.admits("put") && !b.tools.admits("get_x"));
    assert!(!a.default && b.default);
    let web = crate::Profiles {
        names: vec!["web".to_owned()],
        ..crate::Profiles::default()
    };
    assert!(web.admits(a) && web.admits(b));
    assert!(!crate::Profiles::default().admits(a));
}

#[test]
fn two_spellings_of_one_variable_are_an_error() {
    let place = Place::new()
        .env("MCPX_LOG_LEVEL", "debug")
        .env("MCPX_LOGGING_LEVEL", "info");
    assert_eq!(
        place.error(),
        "the variable `MCPX_LOG_LEVEL`: `MCPX_LOGGING_LEVEL` is set too, and both are `logging.level`; expected one of the two"
    );
}

#[test]
fn a_misspelt_variable_is_a_warning_and_a_foreign_one_is_not() {
    let place = Place::new()
        .env("MCPX_POOL_MAXX", "3")
        .env("MCPX_SESSION_ID", "s");
    let warnings: Vec<String> = place
        .load()
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        warnings,
        ["the variable `MCPX_POOL_MAXX`: sets nothing; did you mean `MCPX_POOL_MAX`?"]
    );
}

#[test]
fn unknown_keys_are_recorded_and_refused_only_when_asked() {
    let text = r#"{"pol": {"max": 1}, "pool": {"maxx": 2}, "mcpServers": {"a": {"command": "x", "alwaysAllow": []}}}"#;
    let place = Place::new().file(USER, text);
    let unknown: Vec<String> = place
        .load()
        .unknown_keys
        .iter()
        .map(|warning| warning.message.clone())
        .collect();
    assert_eq!(
        unknown,
        [
            "`pol` means nothing here",
            "`pool.maxx` means nothing here; did you mean `pool.max`?",
            "`alwaysAllow` of the server `a` means nothing here"
        ]
    );
    assert!(
        place
            .flag("plumbing.strictUnknownKeys", "true")
            .try_load()
            .is_err()
    );
}
