package audit

// Events of an audit log: the messages of its records. A Record writes those of
// calls; the code that performs the action writes the others, with the attributes
// named here. docs/security.md describes them all.
const (
	// Call is a call, answered or refused, or the beginning of a stream.
	Call = "call"
	// StreamEnded is the end of a stream that had begun.
	StreamEnded = "stream.ended"

	// ServerStarted comes with what is configured, never with secrets: listen,
	// auth (names of methods), anonymous, limits; ServerStopped with nothing.
	ServerStarted = "server.started"
	ServerStopped = "server.stopped"

	// Of API keys: key (its id), name, subject, tenant, scopes, expires, and by,
	// the user of the operating system who did it.
	KeyCreated = "key.created"
	KeyRotated = "key.rotated"
	KeyRevoked = "key.revoked"

	// CardSigned comes with kids; TLSReloaded with the certificate's
	// subject and expires, and with error where it failed; WebhookKeysRotated
	// with key, the new public one, and by. ConfigReloaded comes with because (what
	// it was asked by) and agents, or error where what was before stays.
	CardSigned         = "card.signed"
	TLSReloaded        = "tls.reloaded"
	ConfigReloaded     = "config.reloaded"
	WebhookKeysRotated = "webhook-keys.rotated"

	// Of the commands parley admin: what was selected, how much there was of it, by,
	// and error where it failed or was interrupted. AdminGC comes with older_than,
	// states, tasks and receipts; AdminErase with context, tenant, subject, tasks
	// and receipts; AdminExport and AdminImport with file, tasks and entries,
	// AdminBackup with file and bytes;
	// AdminRedeliver with task, config, letters, enabled and hastened.
	AdminGC        = "admin.gc"
	AdminErase     = "admin.erase"
	AdminBackup    = "admin.backup"
	AdminExport    = "admin.export"
	AdminImport    = "admin.import"
	AdminRedeliver = "admin.push.redeliver"

	// AdminCall is a call of the admin API that changed something, or looked at what is
	// others': op, outcome, subject, via, and what it was about.
	AdminCall = "admin.call"

	// Lost is written by a File that could not be written for a while: as many
	// records as its attribute lost says are missing before it.
	Lost = "audit.lost"
	// Reopened is the first line of a file that was opened in another's place.
	Reopened = "audit.reopened"
)

// Outcomes beside the names of errors (see a2a.Code).
const (
	OK = "ok"
	// Left says that the client did not wait for the answer, or for the end of its
	// stream.
	Left = "left"
)
