package audit

// Events of an audit log: the messages of its records. A Record writes those of
// calls; the code that performs the action writes the others, with the attributes
// named here. docs/security.md describes them all.
const (
	// Call is a call, answered or refused, or the beginning of a stream.
	Call = "call"
	// StreamEnded is the end of a stream that had begun.
	StreamEnded = "stream.ended"

	// ServerStarted has the configuration, never secrets: listen, auth (names of methods),
	// anonymous, limits. ServerStopped has no attributes.
	ServerStarted = "server.started"
	ServerStopped = "server.stopped"

	// Key events have key (its id), name, subject, tenant, scopes, expires, and by, the user
	// of the operating system who did it.
	KeyCreated = "key.created"
	KeyRotated = "key.rotated"
	KeyRevoked = "key.revoked"

	// CardSigned has kids. TLSReloaded has the certificate's subject and expires, or error if
	// it failed. WebhookKeysRotated has key, the new public key, and by. ConfigReloaded has
	// because (what asked for it) and agents, or error if the former configuration stays.
	CardSigned         = "card.signed"
	TLSReloaded        = "tls.reloaded"
	ConfigReloaded     = "config.reloaded"
	WebhookKeysRotated = "webhook-keys.rotated"

	// Events of parley admin commands have the selection, the amounts, by, and error if the
	// command failed or was interrupted. AdminGC has older_than, states, tasks and receipts;
	// AdminErase has context, tenant, subject, tasks and receipts; AdminExport and
	// AdminImport have file, tasks and entries; AdminBackup has file and bytes;
	// AdminRedeliver has task, config, letters, enabled and hastened.
	AdminGC        = "admin.gc"
	AdminErase     = "admin.erase"
	AdminBackup    = "admin.backup"
	AdminExport    = "admin.export"
	AdminImport    = "admin.import"
	AdminRedeliver = "admin.push.redeliver"

	// AdminCall is a call of the admin API that changed something, or read other callers'
	// data: op, outcome, subject, via, and what the call was about.
	AdminCall = "admin.call"

	// Lost is written by a File after it could not be written for a while. Its attribute lost
	// is the number of records missing before it.
	Lost = "audit.lost"
	// Reopened is the first line of a file that replaces another.
	Reopened = "audit.reopened"
)

// Outcomes, in addition to the names of errors (see a2a.Code).
const (
	OK = "ok"
	// Left means that the client did not wait for the answer, or for the end of its stream.
	Left = "left"
)
