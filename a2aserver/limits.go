package a2aserver

import (
	"cmp"
	"math"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
)

// Limits bound what one request and one caller may use. Zero fields mean their default,
// negative ones no limit. Anonymous callers are told apart by address, of IPv6 by its
// first 64 bits; behind one of Options.TrustedProxies it is the address that the proxy
// names.
type Limits struct {
	// Rate is how many requests a caller may make per second, over a long time,
	// and Burst how many at once. Rate zero means no limit; Burst zero, as many as
	// in two seconds. Cards, keys and probes do not count.
	Rate  float64
	Burst int
	// Streams is how many streams a caller may have open. Zero means no limit.
	Streams int
	// Parts is how many parts a message may have. Zero means a2a.MaxParts, 1000;
	// there are never more.
	Parts int
	// PartBytes is how large the content of a part may be, in bytes. Zero means no
	// limit except that of the body.
	PartBytes int
	// Depth is how deep the metadata and the data of a request may be nested.
	// Zero means 64. A request as a whole never nests more than a2a.MaxDepth, 100.
	Depth int
	// Hops is how many agents a message may have come through: see HopsHeader.
	// Zero means 16.
	Hops int
	// Bodies is how many bytes large bodies, those of more than 256 KiB, may use
	// together: requests until they are decoded, and those with a message until it is
	// stored; answers and events until their client has read them; and webhooks. A
	// caller may use a quarter of it, or one body that is larger than that. Further
	// bodies have to wait, and are refused as Unavailable after 30 s. Zero means 16
	// times Options.MaxBody, 128 MiB if that is not set either; negative, no limit.
	Bodies int64
	// Connections is how many connections a Port has at a time. Beyond that, a new one
	// replaces the one that has been idle longest, for a second at least; if none is
	// idle, new ones have to wait. Zero means no limit.
	Connections int
	// AddrConnections is how many of them may come from one address. Beyond that, a new
	// one replaces an idle one of that address in the same way; if none is idle, it is
	// closed. Connections of Options.TrustedProxies are not counted. Zero means half of
	// Connections, but no limit for the addresses of this machine itself, because an
	// undeclared proxy may run there.
	AddrConnections int
}

func (l *Limits) addrConnections() int {
	if l.AddrConnections == 0 && l.Connections > 0 {
		return max(l.Connections/2, 1)
	}
	return max(l.AddrConnections, 0)
}

func (l *Limits) parts() int {
	if l.Parts <= 0 || l.Parts > a2a.MaxParts {
		return a2a.MaxParts
	}
	return l.Parts
}

func (l *Limits) depth() int {
	switch {
	case l.Depth == 0:
		return 64
	case l.Depth < 0:
		return a2a.MaxDepth
	}
	return l.Depth
}

// bodies returns Bodies for a MaxBody of most bytes; 0 means no limit.
func (l *Limits) bodies(most int64) int64 {
	switch {
	case l.Bodies == 0 && most > 0:
		return 16 * min(most, math.MaxInt64/16)
	case l.Bodies < 0:
		return 0
	}
	return l.Bodies
}

func (l *Limits) hops() int { return cmp.Or(l.Hops, 16) }

// check checks a decoded request. Its errors name the fields as every version does.
func (l *Limits) check(req any) error {
	switch q := req.(type) {
	case *a2a.SendMessageRequest:
		if err := l.nests("metadata", q.Metadata); err != nil || q.Message == nil {
			return err
		}
		return l.message(q.Message)
	case *a2a.CancelTaskRequest:
		return l.nests("metadata", q.Metadata)
	}
	return nil
}

func (l *Limits) message(m *a2a.Message) error {
	if err := l.nests("message.metadata", m.Metadata); err != nil {
		return err
	}
	if most := l.parts(); len(m.Parts) > most {
		return a2a.Invalid("message.parts", "has %d elements, more than %d: send fewer, or several messages", len(m.Parts), most)
	}
	for i, p := range m.Parts {
		if p == nil {
			continue // Validate reports it
		}
		if most := l.PartBytes; most > 0 {
			if n := max(len(p.Text), len(p.Raw), len(p.Data), len(p.URL)); n > most {
				return tooLarge(partPath(i), "the content has %d bytes, more than %d; send large files by URL", n, most)
			}
		}
		if err := l.nestsIn(i, "data", p.Data); err != nil {
			return err
		}
		if err := l.nestsIn(i, "metadata", p.Metadata); err != nil {
			return err
		}
	}
	return nil
}

func tooLarge(field, format string, args ...any) error {
	e := a2a.Invalid(field, format, args...)
	e.Code = a2a.CodeTooLarge
	return e
}

func partPath(i int) string { return "message.parts[" + strconv.Itoa(i) + "]" }

func (l *Limits) nestsIn(part int, field string, v a2a.JSON) error {
	if !json.Deeper(v, l.depth()) {
		return nil
	}
	return l.nests(partPath(part)+"."+field, v)
}

func (l *Limits) nests(field string, v a2a.JSON) error {
	if most := l.depth(); json.Deeper(v, most) {
		return a2a.Invalid(field, "is nested more than %d levels deep", most)
	}
	return nil
}
