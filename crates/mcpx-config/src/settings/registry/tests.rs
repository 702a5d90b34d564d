use std::collections::BTreeSet;

use super::*;
use crate::settings::kind::read_text;

#[test]
fn every_default_is_read_by_the_reader_of_its_kind() {
    for setting in SETTINGS {
        assert!(
            read_text(setting, setting.default).is_ok(),
            "{}",
            setting.path
        );
    }
}

#[test]
fn no_two_settings_share_a_path_a_variable_or_a_flag() {
    let mut seen = BTreeSet::new();
    for setting in SETTINGS {
        for name in std::iter::once(setting.path.to_owned())
            .chain(setting.variables())
            .chain(setting.flags_all())
        {
            assert!(seen.insert(name.clone()), "{name} of {}", setting.path);
        }
    }
}

#[test]
fn no_path_goes_through_another_one() {
    for setting in SETTINGS {
        let below = format!("{}.", setting.path);
        assert!(
            !SETTINGS.iter().any(|other| other.path.starts_with(&below)),
            "{below}"
        );
    }
}

#[test]
fn names_are_derived_from_the_path() {
    let of = |path| {
        let setting = by_path(path).unwrap();
        (setting.variable(), setting.flag())
    };
    assert_eq!(
        of("proto.askTTL"),
        (
            "MCPX_PROTO_ASK_TTL".to_owned(),
            "--proto-ask-ttl".to_owned()
        )
    );
    assert_eq!(
        of("protoMessages.listMaxAge"),
        (
            "MCPX_PROTO_MESSAGES_LIST_MAX_AGE".to_owned(),
            "--proto-messages-list-max-age".to_owned()
        )
    );
    assert_eq!(of("proto.serveMCP").0, "MCPX_PROTO_SERVE_MCP");
    assert_eq!(of("http.readHeaderTimeout").1, "--http-read-header-timeout");
    assert_eq!(of("preset").1, "--preset");
}

#[test]
fn a_setting_is_found_by_each_of_its_flags() {
    for flag in ["--search-limit", "--limit", "--n", "-n"] {
        assert_eq!(by_flag(flag).unwrap().path, "search.limit");
    }
    assert!(by_flag("--nothing").is_none());
}

#[test]
fn a_key_stands_for_its_own_row() {
    assert_eq!(key::POOL_MAX.setting().path, "pool.max");
    assert_eq!(key::AUTOSTART_ARGS.setting().path, "autostart.args");
    assert_eq!(key::UPSTREAM_PROTOCOL.setting().path, "upstream.protocol");
}

#[test]
fn an_enum_has_choices_and_nothing_else_does() {
    for setting in SETTINGS {
        assert_eq!(
            setting.kind == Kind::Enum,
            !setting.choices.is_empty(),
            "{}",
            setting.path
        );
        for (_, meant) in setting.choice_aliases {
            assert!(setting.choices.contains(meant), "{meant}");
        }
    }
}
