package a2aserver

// Events of an audit log, which are the messages of its records. Those of calls
// are written by a Server; others by whoever does what they say, with the
// attributes named here. docs/security.md describes them all.
const (
	// AuditCall is a call, answered or refused; of a stream, its beginning.
	AuditCall = "call"
	// AuditStreamEnded is the end of a stream that had begun.
	AuditStreamEnded = "stream.ended"

	// AuditServerStarted comes with what is configured, never with secrets: listen,
	// auth (names of methods), anonymous, limits; AuditServerStopped with nothing.
	AuditServerStarted = "server.started"
	AuditServerStopped = "server.stopped"

	// Of API keys: key (its id), name, subject, tenant, scopes, expires, and by,
	// the user of the operating system who did it.
	AuditKeyCreated = "key.created"
	AuditKeyRotated = "key.rotated"
	AuditKeyRevoked = "key.revoked"

	// AuditCardSigned comes with kids; AuditTLSReloaded with the certificate's
	// subject and expires, and with error where it failed; AuditWebhookKeysRotated
	// with key, the new public one, and by. AuditConfigReloaded comes with because (what
	// it was asked by) and agents, or error where what was before stays.
	AuditCardSigned         = "card.signed"
	AuditTLSReloaded        = "tls.reloaded"
	AuditConfigReloaded     = "config.reloaded"
	AuditWebhookKeysRotated = "webhook-keys.rotated"

	// Of the commands parley admin: what was selected, how much there was of it, by,
	// and error where it failed or was interrupted. AuditAdminGC comes with older_than,
	// states, tasks and receipts; AuditAdminErase with context, tenant, subject, tasks
	// and receipts; AuditAdminExport and AuditAdminImport with file, tasks and entries,
	// AuditAdminBackup with file and bytes;
	// AuditAdminRedeliver with task, config, letters, enabled and hastened.
	AuditAdminGC        = "admin.gc"
	AuditAdminErase     = "admin.erase"
	AuditAdminBackup    = "admin.backup"
	AuditAdminExport    = "admin.export"
	AuditAdminImport    = "admin.import"
	AuditAdminRedeliver = "admin.push.redeliver"

	// AuditLost comes from an AuditFile that could not be written for a while:
	// lost records are missing in front of it.
	AuditLost = "audit.lost"
	// AuditReopened is the first line of a file that was opened in another's place.
	AuditReopened = "audit.reopened"
)

// Outcomes beside the names of errors (see a2a.Code).
const (
	auditOK   = "ok"
	auditLeft = "left" // the client did not wait for the answer, or for the end of its stream
)
