//! Configuration.

use super::*;

#[test]
fn a_configuration_does_not_print_its_secrets() {
    let config = ProviderConfig {
        name: "p".into(),
        wire: Wire::Chat,
        base_url: "https://h.example/v1".into(),
        api_key: Some("sk-secret".into()),
        api_key_env: Some("P_KEY".into()),
        model: "m".into(),
        context_window: 1,
        timeout: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(1),
        max_retries: 0,
        headers: vec![("x-token".into(), "hidden".into())],
    };
    let text = format!("{config:?}");
    assert!(
        !text.contains("secret") && !text.contains("hidden"),
        "{text}"
    );
}

#[test]
fn the_path_is_appended_to_the_address() {
    #[track_caller]
    fn check(wire: Wire, base_url: &str, expect: &str) {
        let config = ProviderConfig {
            name: "p".into(),
            wire,
            base_url: base_url.into(),
            api_key: None,
            api_key_env: None,
            model: "m".into(),
            context_window: 1,
            timeout: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(1),
            max_retries: 0,
            headers: Vec::new(),
        };
        assert_eq!(url(&config).unwrap().as_str(), expect);
    }
    check(
        Wire::Messages,
        "https://api.anthropic.com",
        "https://api.anthropic.com/v1/messages",
    );
    check(
        Wire::Responses,
        "https://api.openai.com/v1/",
        "https://api.openai.com/v1/responses",
    );
    check(
        Wire::Chat,
        " http://localhost:11434/v1 ",
        "http://localhost:11434/v1/chat/completions",
    );
}

#[test]
fn this_machine_is_known_by_its_names() {
    #[track_caller]
    fn check(url: &str, expect: bool) {
        assert_eq!(http::is_local(&Url::parse(url).unwrap()), expect, "{url}");
    }
    check("http://localhost:1", true);
    check("http://127.0.0.2/", true);
    check("http://[::1]/", true);
    check("http://10.0.0.1/", false);
    check("https://localhost.example/", false);
}
