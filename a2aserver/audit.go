package a2aserver

import (
	"io"
	"log/slog"

	"github.com/parley-a2a/parley/internal/audit"
)

// AuditFile is an audit log in a file: one JSON object a line, whose time and
// event come first. See [OpenAudit].
type AuditFile = audit.File

// OpenAudit opens the audit log at path, or creates it with mode 0600. Several
// processes may append to the same file. Write errors do not fail calls: failures
// gets a record of the first, and the log says how many records are missing as
// soon as it can be written again. The file may be a named pipe, whose reader is
// waited for once, for a second. A nil logger discards the failures. The caller
// closes the file.
func OpenAudit(path string, failures *slog.Logger) (*AuditFile, error) {
	return audit.Open(path, failures)
}

// AuditHandler returns a handler that writes records to w as an AuditFile does, one
// Write each. Text with non-printing characters, which a terminal might interpret, is
// quoted.
func AuditHandler(w io.Writer) slog.Handler { return audit.Handler(w) }

// Events of an audit log, which docs/security.md describes with their attributes.
// A Server writes AuditCall and AuditStreamEnded, an AuditFile AuditLost and
// AuditReopened; the code that performs the action writes the others.
const (
	AuditCall               = audit.Call
	AuditStreamEnded        = audit.StreamEnded
	AuditServerStarted      = audit.ServerStarted
	AuditServerStopped      = audit.ServerStopped
	AuditKeyCreated         = audit.KeyCreated
	AuditKeyRotated         = audit.KeyRotated
	AuditKeyRevoked         = audit.KeyRevoked
	AuditCardSigned         = audit.CardSigned
	AuditTLSReloaded        = audit.TLSReloaded
	AuditConfigReloaded     = audit.ConfigReloaded
	AuditWebhookKeysRotated = audit.WebhookKeysRotated
	AuditAdminGC            = audit.AdminGC
	AuditAdminErase         = audit.AdminErase
	AuditAdminBackup        = audit.AdminBackup
	AuditAdminExport        = audit.AdminExport
	AuditAdminImport        = audit.AdminImport
	AuditAdminRedeliver     = audit.AdminRedeliver
	AuditAdminCall          = audit.AdminCall
	AuditLost               = audit.Lost
	AuditReopened           = audit.Reopened
)

// AuditRequest is the message of the records of Options.Requests.
const AuditRequest = audit.Request

// record begins the audit record of a request that has arrived.
func (x *exchange) record() {
	log := x.s.audit
	if log == nil {
		return
	}
	remote := ""
	if log.Writes() { // else it only counts
		remote = x.remote
		if a := x.s.opts.clientAddr(x.remote, x.headers); a.IsValid() {
			remote = a.String()
		}
	}
	x.audit.Begin(log, x.binding, remote, x.s.name)
}
