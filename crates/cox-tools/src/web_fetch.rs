//! `web_fetch`: reads a public web page as text.
