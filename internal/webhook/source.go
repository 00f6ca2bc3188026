package webhook

import "strings"

// The id of a delivery is msg_<source>_<rest>. The source stands for the caller
// whose configuration it is; because the id is part of what is signed, a signature
// made for one caller never holds for another.

// SourceHeader is the header, and the metadata over gRPC, in which a server tells
// a caller the source of his own webhooks. It is never sent with a delivery: there
// the signed id has it, and a header beside it could be forged.
const SourceHeader = "Parley-Webhook-Source"

const (
	idPrefix   = "msg_"
	sourceSize = 32 // letters of base32
)

// SourcedID puts a source into a delivery's id. Without one the id stays.
func SourcedID(source, id string) string {
	if source == "" {
		return id
	}
	return idPrefix + source + "_" + strings.TrimPrefix(id, idPrefix)
}

// SourceOf returns the source in a delivery's id, "" if it has none, as of
// other servers and of Parley before it had sources. It proves nothing unless the
// id was verified.
func SourceOf(id string) string {
	rest, ok := strings.CutPrefix(id, idPrefix)
	if !ok || len(rest) < sourceSize+2 || rest[sourceSize] != '_' || !ValidSource(rest[:sourceSize]) {
		return ""
	}
	return rest[:sourceSize]
}

// ValidSource reports whether s has the form of a source.
func ValidSource(s string) bool {
	return len(s) == sourceSize && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
