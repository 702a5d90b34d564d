//! `tool_search`: finds deferred tools and brings them into the session.
