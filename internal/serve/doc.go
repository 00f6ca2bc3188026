// Package serve runs a host from parley.yaml and the flags of parley serve.
//
// [Open] starts a host:
//
//   - [Env.Load] sets every flag that the command line does not set to the value
//     that the file has for it, and refuses values that contradict each other;
//   - Open listens, opens the database and the audit log, and removes passwords
//     from the environment, which the agents' commands inherit;
//   - revise makes the first revision: who may call, the agents of the file or of
//     the flags, and their cards. Cards of agents on other servers are fetched,
//     for 5 s at most; an agent that does not answer gets a stand-in card.
//
// [Host.Run] serves until its context ends. Beside the server one goroutine runs, which
// alone replaces the revision: when SIGHUP comes, when a watched file changes
// (--reload), or when a fetched card has changed. It loads the settings again and makes
// a new revision, which keeps every agent whose settings are the same. The server takes
// the whole revision or none of it: on an error the host logs the reason and keeps the
// present revision. Settings that only take effect at the next start are named in the
// log.
//
// When the context ends, the server drains for at most --drain-timeout: it refuses
// new calls, tells agents to stop, leaves their tasks for the next start and closes
// connections. Run returns when all goroutines have ended and the database is
// closed.
//
// Failures are of type [failure.Error]. A Host may be used by one goroutine at a
// time.
package serve
