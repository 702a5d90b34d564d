//! What a question's state says: which call it belongs to. The client gets it sealed.

use mcp_wire::{Object, Raw, RpcError};

/// What a question's state says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    /// A call is held open here, under this name.
    Held(String),
    /// The server keeps nothing: this goes back to it, as it came.
    Handed(Option<Raw>),
    /// The person was sent to a URL; the call is made anew.
    Visited,
}

impl State {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let object = match self {
            Self::Held(id) => Object::new().with("held", id.as_str()),
            Self::Handed(Some(state)) => Object::new().with("handed", state.clone()),
            Self::Handed(None) => Object::new().with("stateless", true),
            Self::Visited => Object::new().with("visited", true),
        };
        Raw::from(object).as_str().as_bytes().to_vec()
    }

    /// # Errors
    /// When another program made it.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, RpcError> {
        let object = Raw::parse_bytes(bytes).and_then(|raw| raw.object());
        let object =
            object.map_err(|_| RpcError::invalid_params("`requestState` cannot be read"))?;
        if let Some(id) = object.string("held") {
            return Ok(Self::Held(id));
        }
        if let Some(state) = object.get("handed") {
            return Ok(Self::Handed(Some(state.clone())));
        }
        Ok(if object.contains("stateless") {
            Self::Handed(None)
        } else {
            Self::Visited
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_as_it_was() {
        let raw = Raw::parse(r#"{"a": 1.50}"#).expect("JSON");
        for state in [
            State::Held("x".to_owned()),
            State::Handed(Some(raw)),
            State::Handed(None),
            State::Visited,
        ] {
            assert_eq!(State::read(&state.to_bytes()).expect("a state"), state);
        }
        assert!(State::read(b"no").is_err());
    }
}
