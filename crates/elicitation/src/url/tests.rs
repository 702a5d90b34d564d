use proptest::prelude::*;
use url::Url;

use super::UrlWarning::{
    IpAddress, MixedScripts, PlainHttp, Punycode, ThisComputer, UnusualPort, UserInfo,
};
use super::{Opener, UrlOffer, UrlWarning};

#[test]
fn an_offer_shows_what_will_be_opened() {
    type Expected = (
        &'static str,
        &'static str,
        Option<&'static str>,
        &'static [UrlWarning],
    );
    let cases: [(&str, Expected); 20] = [
        (
            "https://mcp.example.com/ui/set_api_key",
            (
                "https://mcp.example.com/ui/set_api_key",
                "mcp.example.com",
                None,
                &[],
            ),
        ),
        (
            "HTTPS://Example.COM:443/a/../b?x=1&y=%20#f",
            (
                "https://example.com/b?x=1&y=%20#f",
                "example.com",
                None,
                &[],
            ),
        ),
        (
            "https://example.com",
            ("https://example.com/", "example.com", None, &[]),
        ),
        (
            "https://example.com/żółw",
            (
                "https://example.com/%C5%BC%C3%B3%C5%82w",
                "example.com",
                None,
                &[],
            ),
        ),
        (
            "https://bücher.example/",
            (
                "https://xn--bcher-kva.example/",
                "xn--bcher-kva.example",
                Some("bücher.example"),
                &[Punycode],
            ),
        ),
        (
            "https://xn--bcher-kva.example/",
            (
                "https://xn--bcher-kva.example/",
                "xn--bcher-kva.example",
                Some("bücher.example"),
                &[Punycode],
            ),
        ),
        (
            "https://аpple.com/",
            (
                "https://xn--pple-43d.com/",
                "xn--pple-43d.com",
                None,
                &[Punycode, MixedScripts],
            ),
        ),
        (
            "https://аррӏе.com/",
            (
                "https://xn--80ak6aa92e.com/",
                "xn--80ak6aa92e.com",
                None,
                &[Punycode],
            ),
        ),
        (
            "https://пример.рф/",
            (
                "https://xn--e1afmkfd.xn--p1ai/",
                "xn--e1afmkfd.xn--p1ai",
                Some("пример.рф"),
                &[Punycode],
            ),
        ),
        (
            "https://例え.jp/",
            (
                "https://xn--r8jz45g.jp/",
                "xn--r8jz45g.jp",
                Some("例え.jp"),
                &[Punycode],
            ),
        ),
        (
            "http://example.com/",
            ("http://example.com/", "example.com", None, &[PlainHttp]),
        ),
        (
            "http://localhost:8080/x",
            (
                "http://localhost:8080/x",
                "localhost",
                None,
                &[ThisComputer],
            ),
        ),
        (
            "http://a.localhost./",
            (
                "http://a.localhost./",
                "a.localhost.",
                None,
                &[ThisComputer],
            ),
        ),
        (
            "http://0x7f.1:3000/",
            ("http://127.0.0.1:3000/", "127.0.0.1", None, &[ThisComputer]),
        ),
        (
            "http://[::1]:3000/",
            ("http://[::1]:3000/", "[::1]", None, &[ThisComputer]),
        ),
        (
            "http://[::ffff:127.0.0.1]/",
            (
                "http://[::ffff:7f00:1]/",
                "[::ffff:7f00:1]",
                None,
                &[ThisComputer],
            ),
        ),
        (
            "https://10.0.0.1/",
            ("https://10.0.0.1/", "10.0.0.1", None, &[IpAddress]),
        ),
        (
            "https://[2001:db8::1]:8443/",
            (
                "https://[2001:db8::1]:8443/",
                "[2001:db8::1]",
                None,
                &[IpAddress, UnusualPort],
            ),
        ),
        (
            "https://google.com@evil.example/",
            (
                "https://google.com@evil.example/",
                "evil.example",
                None,
                &[UserInfo],
            ),
        ),
        (
            "https://graph.example/users?$filter=a",
            (
                "https://graph.example/users?$filter=a",
                "graph.example",
                None,
                &[],
            ),
        ),
    ];
    for (url, expected) in cases {
        let offer = UrlOffer::parse_for(Opener::Argument, "m", url).unwrap();
        let got = (
            offer.url(),
            offer.host(),
            offer.host_in_letters(),
            offer.warnings(),
        );
        assert_eq!(got, expected, "{url}");
    }
}

#[test]
fn what_cannot_be_shown_and_opened_as_the_same_is_refused() {
    let long = format!("https://example.com/{}", "a".repeat(5_000));
    let grows = format!("https://example.com/{}", "ż".repeat(1_000));
    let odd = "the address holds `%`, which belongs to no address";
    let unchanged = "the address would not reach the browser unchanged";
    let cases = [
        (
            "",
            "`` is no web address; expected `https://host/…`".to_owned(),
        ),
        (
            "example.com",
            "`example.com` is no web address; expected `https://host/…`".into(),
        ),
        (
            "-h",
            "`-h` is no web address; expected `https://host/…`".into(),
        ),
        (
            "javascript:alert(1)",
            "the scheme is `javascript`; expected `https` or `http`".into(),
        ),
        (
            "file:///etc/passwd",
            "the scheme is `file`; expected `https` or `http`".into(),
        ),
        (
            "ms-msdt:/id",
            "the scheme is `ms-msdt`; expected `https` or `http`".into(),
        ),
        ("https://", "the address names no host".into()),
        ("https://./", "the address names no host".into()),
        (
            "https://exa mple.com/",
            "the address holds a space, which belongs to no address".into(),
        ),
        ("https://example.com/\n", odd.replace('%', "␊")),
        ("https://h\tt.com/", odd.replace('%', "␉")),
        ("https://example.com/\u{1b}[31m", odd.replace('%', "␛")),
        (
            "https://example.com/\u{202e}moc",
            odd.replace('%', "<U+202E>"),
        ),
        ("https://example.com/\u{200b}", odd.replace('%', "<U+200B>")),
        ("https://example.com/\u{a0}", odd.replace('%', "\u{a0}")),
        ("https://example.com/\"", odd.replace('%', "\"")),
        ("https://example.com/'", odd.replace('%', "'")),
        ("https://example.com/`id`", odd.replace('%', "`")),
        ("https://example.com/<b>", odd.replace('%', "<")),
        ("https:\\\\evil.example/", odd.replace('%', "\\")),
        ("https://example.com/a|b", unchanged.into()),
        ("https://example.com/?a=^", unchanged.into()),
        ("https://example.com/?a={b", unchanged.into()),
        ("https://example.com/$(id)", unchanged.into()),
        ("https://example.com/%", unchanged.into()),
        ("https://example.com/%zz", unchanged.into()),
        (&long, "the address has 5020 bytes, the most is 4096".into()),
        (
            &grows,
            "the address has 6020 bytes, the most is 4096".into(),
        ),
    ];
    for (url, expected) in cases {
        let refusal = UrlOffer::parse_for(Opener::Argument, "m", url).unwrap_err();
        assert_eq!(refusal.to_string(), expected, "{url:?}");
    }
}

#[test]
fn a_command_line_takes_less_than_an_argument() {
    for url in [
        "https://example.com/?a=1&calc.exe",
        "https://example.com/%41%44",
        "https://example.com/?a=%DATE%20",
        "https://example.com/(a)",
        "https://example.com/!a!",
    ] {
        assert!(
            UrlOffer::parse_for(Opener::Argument, "", url).is_ok(),
            "{url}"
        );
        assert!(
            UrlOffer::parse_for(Opener::CommandLine, "", url).is_err(),
            "{url}"
        );
    }
    assert!(UrlOffer::parse_for(Opener::CommandLine, "", "https://example.com/a?b=c#d").is_ok());
}

#[test]
fn the_message_is_safe_and_cut() {
    let offer = UrlOffer::parse(
        &format!("\u{1b}[2Jhi{}", "x".repeat(1_000_000)),
        "https://example.com/",
    )
    .unwrap();
    assert!(offer.message().as_str().starts_with("hixxx"));
    assert!(
        offer
            .message()
            .as_str()
            .ends_with("… (998002 more characters)")
    );
}

fn urls() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "http",
        "https",
        "HTTPS",
        ":",
        "//",
        "/",
        "\\",
        "@",
        "?",
        "#",
        "%",
        "%20",
        "&",
        ".",
        "..",
        "-",
        "a",
        "example",
        ".com",
        "xn--",
        "xn--bcher-kva",
        "ü",
        "а",
        "[",
        "]",
        "::1",
        "127.1",
        "0x7f",
        ":80",
        ":8080",
        " ",
        "\t",
        "\"",
        "'",
        "|",
        "$(",
        "^",
        "\u{202e}",
        "\u{0}",
    ]);
    prop_oneof![
        any::<String>(),
        prop::collection::vec(pieces.clone(), 0..12).prop_map(|pieces| pieces.concat()),
        prop::collection::vec(pieces, 0..12)
            .prop_map(|pieces| format!("https://{}", pieces.concat())),
    ]
}

proptest! {
    #[test]
    fn what_is_offered_reads_back_as_itself(url in urls(), windows in any::<bool>()) {
        let opener = if windows { Opener::CommandLine } else { Opener::Argument };
        if let Ok(offer) = UrlOffer::parse_for(opener, "", &url) {
            let shown = offer.url();
            let again = Url::parse(shown).unwrap();
            prop_assert_eq!(again.as_str(), shown);
            prop_assert_eq!(again.host_str(), Some(offer.host()));
            prop_assert!(shown.starts_with("http://") || shown.starts_with("https://"));
            prop_assert!(shown.bytes().all(|byte| byte.is_ascii_graphic()));
            let odd = ['"', '\'', '`', '\\', '<', '>', '|', '^', '{', '}'];
            prop_assert!(!shown.contains(odd), "{}", shown);
            let expands = shown.contains(['%', '&', '!', '(', ')']);
            prop_assert!(!(windows && expands), "{}", shown);
            let offered_again = UrlOffer::parse_for(opener, "", shown);
            prop_assert_eq!(offered_again, Ok(offer.clone()));
        }
    }

    #[test]
    fn ordinary_addresses_are_offered(host in "[a-z]{1,9}(\\.[a-z]{2,9}){1,3}", path in "[a-zA-Z0-9/_.~-]{0,20}", query in "[a-z]{1,5}=(%[0-9A-F]{2}|[a-z0-9&=+]){0,9}") {
        let url = format!("https://{host}/{path}?{query}#/step");
        prop_assert!(UrlOffer::parse_for(Opener::Argument, "", &url).is_ok());
    }
}
