package a2a

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Secret is a credential, such as a token or a password. It prints as *** with every
// verb, in logs and in encoding/json. Reveal and a conversion to string return the text:
// use them only where the secret is handed to its recipient. As the key of a map,
// encoding/json writes it in clear. The protocol's own codecs write it where the
// protocol requires it.
type Secret string

// hidden is printed for a secret that is set.
const hidden = "***"

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns ***, or nothing if there is no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format prints what String returns, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns what String returns.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON returns what String returns.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue returns what String returns.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// LogValue keeps c's secrets out of logs, which would take its JSON form.
func (c *TaskPushNotificationConfig) LogValue() slog.Value {
	return slog.GroupValue(slog.String("taskId", c.TaskID), slog.String("id", c.ID), slog.Any("authentication", c.Authentication))
}

// LogValue keeps a's secrets out of logs.
func (a *AuthenticationInfo) LogValue() slog.Value {
	if a == nil {
		return slog.Value{}
	}
	return slog.GroupValue(slog.String("scheme", a.Scheme))
}
