//! Which addresses are public: everything else stays out of reach of a page.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Says whether an address belongs to the public internet.
///
/// Source: the special-purpose registries of IANA (RFC 6890 and its updates), and for IPv6 only global unicast,
/// `2000::/3`, without the blocks that are not routed or that carry an IPv4 address inside, which is judged itself.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets();
    let is_special = matches!(
        (a, b, c, d),
        (0 | 10 | 127 | 224.., ..)
            | (100, 64..=127, ..)
            | (169, 254, ..)
            | (172, 16..=31, ..)
            | (192, 168, ..)
            | (192, 0, 0 | 2, _)
            | (192, 88, 99, _)
            | (198, 18 | 19, ..)
            | (198, 51, 100, _)
            | (203, 0, 113, _)
            // The host agent of a large cloud answers here, on an address that looks public.
            | (168, 63, 129, 16)
    );
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        // An IPv4 address written as an IPv6 one, and one behind a public NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(v4(high, low))
        }
        // 6to4.
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // IETF protocol assignments, Teredo among them, and documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
        let check = |addresses: &[&str], expected| {
            for text in addresses {
                assert_eq!(is_public(text.parse().unwrap()), expected, "{text}");
            }
        };
        check(
            &[
                "1.1.1.1",
                "93.184.216.34",
                "100.63.255.255",
                "100.128.0.1",
                "172.15.0.1",
                "172.32.0.1",
                "192.0.1.1",
                "223.255.255.255",
                "2606:4700:4700::1111",
                "::ffff:1.1.1.1",
                "64:ff9b::1.1.1.1",
                "2002:101:101::1",
                "2001:4860:4860::8888",
            ],
            true,
        );
        check(
            &[
                "0.0.0.0",
                "10.1.2.3",
                "100.64.0.1",
                "100.100.100.200",
                "127.0.0.1",
                "127.255.255.254",
                "168.63.129.16",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.0.0.1",
                "192.0.2.1",
                "192.88.99.1",
                "192.168.1.1",
                "198.18.0.1",
                "198.51.100.1",
                "203.0.113.1",
                "224.0.0.1",
                "240.0.0.1",
                "255.255.255.255",
                "::",
                "::1",
                "::7f00:1",
                "::ffff:127.0.0.1",
                "::ffff:169.254.169.254",
                "64:ff9b::10.0.0.1",
                "64:ff9b:1::1",
                "100::1",
                "2001::1",
                "2001:db8::1",
                "2002:7f00:1::1",
                "3fff::1",
                "5f00::1",
                "fc00::1",
                "fd00:ec2::254",
                "fe80::1",
                "fec0::1",
                "ff02::1",
            ],
            false,
        );
    }
}
