package a2aclient

import (
	"net/http"
	"slices"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// A stream's cursor travels as server-sent events have it, as id and
// Last-Event-ID. Intermediaries may drop either. Agents that offer the resume
// extension (docs/extensions/resume-v1.md) put it into the messages, too; they
// are asked to for each stream, since after a cut it is too late.

// offersMarks reports whether the agent's card has the extension.
func (c *Client) offersMarks() bool {
	return slices.ContainsFunc(c.Card().Capabilities.Extensions, func(e *a2a.AgentExtension) bool {
		return e != nil && e.URI == dialect.ResumeURI
	})
}

// marks reports whether the elements of a call's stream are to have their
// positions in them.
func (c *Client) marks(k *call) bool {
	return dialect.Get(k.op).Streams && dialect.HasExtensions(k.face.dialect) && c.offersMarks()
}

// askForMarks activates the extension for a call, besides those of the caller.
func (k *call) askForMarks(h http.Header) {
	name := dialect.ExtensionsHeader(k.face.dialect)
	if list := h.Get(name); list != "" {
		h.Set(name, list+","+dialect.ResumeURI)
	} else {
		h.Set(name, dialect.ResumeURI)
	}
}

// eventID takes the position out of an element, if it is there; the last one's
// of an event is that of all of them.
func (cn *conn) eventID(el *a2a.StreamResponse) string {
	if !cn.call.marked {
		return ""
	}
	id := dialect.TakeEventID(el)
	if cn.within() {
		return ""
	}
	return id
}

// cursorOf returns where a subscription goes on, if that is to be said in the
// request itself; 0 if not.
func cursorOf(d dialect.Dialect, req any) int64 {
	if r, ok := req.(*a2a.SubscribeToTaskRequest); ok && dialect.HasExtensions(d) {
		return r.After
	}
	return 0
}
