package outbox

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"

	"github.com/parley-a2a/parley/store"
)

// sourceOf returns what identifies a task's owner to receivers of webhooks: see
// a2a.TaskPushNotificationConfig.Source. The key's tenant names the agent, too. It is a plain
// hash, so that it survives backups, imports and rotations of keys; design/0006 says why it
// needs no secret.
func sourceOf(k store.Key) string {
	h := sha256.New()
	for _, s := range []string{"parley webhook source", k.Tenant, k.Owner} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:20]))
}
