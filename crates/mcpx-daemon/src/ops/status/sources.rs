//! Where the sizes and times that hold for a server come from.

use mcpx_api::reply::SizesFrom;
use mcpx_config::settings::key;
use mcpx_config::settings::registry::Setting;
use mcpx_config::{Reach, Scope, Server, Shared};

use crate::hub::Hub;

/// Says where they come from.
pub(super) struct Sources<'a> {
    pub(super) hub: &'a Hub,
    /// The entries that share the instances.
    pub(super) shared: Option<&'a Shared>,
}

impl Sources<'_> {
    pub(super) fn of(&self, server: &Server) -> SizesFrom {
        let base = self.base(server);
        let own = |server, key, setting| self.written(server, key, setting);
        SizesFrom {
            start: own(&base, "startTimeout", key::POOL_START_TIMEOUT.setting()),
            call: own(server, "callTimeout", key::POOL_CALL_TIMEOUT.setting()),
            idle: self.widest(
                &base,
                "idleTimeout",
                key::POOL_IDLE_TIMEOUT.setting(),
                |one| one.idle_timeout,
            ),
            queue: self.setting(key::POOL_QUEUE_TIMEOUT.setting()),
            max: if base.scope == Scope::Global {
                "the scope `global`".to_owned()
            } else {
                self.widest(&base, "max", key::POOL_MAX.setting(), |one| one.max)
            },
            min: self.widest(&base, "min", key::POOL_MIN.setting(), |one| one.min),
        }
    }

    /// The entry that starts it: a view has the sizes of what it is a view of.
    fn base(&self, server: &Server) -> Server {
        match &server.reach {
            Reach::Alias { of } => self.hub.config().servers.get(of).cloned(),
            _ => None,
        }
        .unwrap_or_else(|| server.clone())
    }

    fn written(&self, server: &Server, key: &str, setting: &'static Setting) -> String {
        if server.says(key) {
            format!("{}:{}", server.origin.file.display(), server.origin.line)
        } else {
            self.setting(setting)
        }
    }

    fn setting(&self, setting: &'static Setting) -> String {
        let settings = self.hub.settings();
        let source = settings
            .get(setting.path)
            .map(|found| found.source.to_string());
        let source = source.unwrap_or_else(|| "default".to_owned());
        format!("`{}`: {source}", setting.path)
    }

    /// Of entries that share, the widest holds: the entry's own, or that of another one, which is named.
    fn widest<T: PartialEq>(
        &self,
        server: &Server,
        key: &str,
        setting: &'static Setting,
        size: impl Fn(&Server) -> T,
    ) -> String {
        let Some(shared) = self.shared.filter(|shared| shared.is_of_equals) else {
            return self.written(server, key, setting);
        };
        let wide = size(&shared.server);
        if size(server) == wide {
            return self.written(server, key, setting);
        }
        let config = self.hub.config();
        let names = shared.names.iter();
        let widest = names
            .filter_map(|name| config.servers.get(name))
            .find(|other| size(other) == wide);
        match widest {
            Some(other) => format!(
                "`{}`, which shares its instances: {}",
                other.name,
                self.written(other, key, setting)
            ),
            None => self.written(server, key, setting),
        }
    }
}
