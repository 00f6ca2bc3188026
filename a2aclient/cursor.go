package a2aclient

import (
	"net/http"
	"slices"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// cursor is the position of a stream. It is sent as for server-sent events, in id and
// Last-Event-ID. Intermediaries may drop either. Agents that offer the resume extension
// (docs/extensions/resume-v1.md) put it into the messages, too. The client asks for it
// in each stream, because after a cut it is too late.
type cursor struct {
	last    int64 // id of the last event; 0 if none
	useless bool  // the events have no ids that could be a cursor
	inside  bool  // the elements carry ids, because those of the events are or may be missing
	within  bool  // the last element came without the id of its event
}

// known reports whether a stream can go on behind the last event.
func (c *cursor) known() bool { return c.last > 0 && !c.useless }

// move goes on to an element that came with an event's id, and sets its Seq: to 0 if
// the ids are useless, because some servers choose them at random. Only canonical
// decimals that grow count. The Task that begins a resumed stream has the id of the
// cursor again.
func (c *cursor) move(cn *conn, el *a2a.StreamResponse, id string, again bool) {
	if cn.call.marked {
		// For an event with several elements, the last one has the position.
		if own := dialect.TakeEventID(el); own != "" && own != id && !cn.within() {
			id, c.inside = own, true
		}
	}
	el.Seq = 0
	// An event may contain several elements. In old versions an element may consist of
	// several events, of which the last has the id.
	if c.within = id == "" && (cn.within() || cn.old()); c.within {
		return
	}
	n, ok := dialect.ParseEventID(id)
	if c.useless || !ok || n < c.last || n == c.last && !again {
		c.useless = true
		return
	}
	c.last, el.Seq = n, n
}

// offersMarks reports whether the agent's card has the extension.
func (c *Client) offersMarks() bool {
	return slices.ContainsFunc(c.Card().Capabilities.Extensions, func(e *a2a.AgentExtension) bool {
		return e != nil && e.URI == dialect.ResumeURI
	})
}

// marks reports whether the elements of a call's stream are to carry their positions.
func (c *Client) marks(k *call) bool {
	return dialect.Get(k.op).Streams && dialect.HasExtensions(k.face.dialect) && c.offersMarks()
}

// askForMarks activates the extension for a call, in addition to the caller's.
func (k *call) askForMarks(h http.Header) {
	name := dialect.ExtensionsHeader(k.face.dialect)
	if list := h.Get(name); list != "" {
		h.Set(name, list+","+dialect.ResumeURI)
	} else {
		h.Set(name, dialect.ResumeURI)
	}
}

// cursorOf returns the position for a subscription to put into the request itself; 0 if
// it does not go there.
func cursorOf(d dialect.Dialect, req any) int64 {
	if r, ok := req.(*a2a.SubscribeToTaskRequest); ok && dialect.HasExtensions(d) {
		return r.After
	}
	return 0
}
