package dialect

import "github.com/parley-a2a/parley/a2a"

// Keys of the forms in which an event is shared. The 32 bits above them hold what else
// the bytes depend on.
const (
	sharedV10 = 1 + iota
	sharedV11
	sharedOld // and what follows: one for each oldForm
)

// AppendLine is ev.Append for server-sent events: in one line, because simple readers
// understand no more, and encoded once for all readers that share el.
func AppendLine(dst []byte, ev Events, el *a2a.StreamResponse, i int) (doc []byte, more bool) {
	at := len(dst)
	key, shared := uint64(0), false
	if el.Shared != nil && i == 0 && (el.StatusUpdate != nil || el.ArtifactUpdate != nil) {
		key, shared = ev.form(el)
	}
	if shared {
		if e, ok := ev.(v1Events); ok {
			if dst, ok = e.appendStored(dst, el); ok {
				return dst, false
			}
		}
		if doc := el.Shared.Load(key); doc != nil {
			return append(dst, doc...), false
		}
	}
	dst, more = ev.Append(dst, el, i)
	a2a.OneLine(dst[at:])
	if shared && !more && len(dst) > at {
		el.Shared.Store(key, append([]byte(nil), dst[at:]...))
	}
	return dst, more
}
