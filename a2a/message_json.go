package a2a

import (
	"math/bits"
	"strings"
)

// MarshalText returns the ProtoJSON name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a ProtoJSON name or a spelling of version 0.x, such as user.
func (r *Role) UnmarshalText(name []byte) error {
	v, ok := parseRole(string(name))
	if !ok {
		return Errorf(CodeInvalidParams, "%s is not a role; use ROLE_USER or ROLE_AGENT", excerpt(name))
	}
	*r = v
	return nil
}

func parseRole(name string) (Role, bool) {
	switch name {
	case "ROLE_USER", "user":
		return RoleUser, true
	case "ROLE_AGENT", "agent":
		return RoleAgent, true
	case "ROLE_UNSPECIFIED":
		return RoleUnspecified, true
	}
	return 0, false
}

func (r *Role) decode(d *decoder) *fault {
	return enum(d, r, parseRole, RoleAgent, "a role", "ROLE_USER or ROLE_AGENT")
}

// AppendJSON appends the ProtoJSON form.
func (m *Message) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "messageId", m.MessageID)
	b = optText(b, "contextId", m.ContextID)
	b = optText(b, "taskId", m.TaskID)
	b = text(b, "role", m.Role.String())
	b = objects(b, "parts", m.Parts)
	b = optRaw(b, "metadata", m.Metadata)
	b = optTexts(b, "extensions", m.Extensions)
	b = optTexts(b, "referenceTaskIds", m.ReferenceTaskIDs)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (m *Message) UnmarshalJSON(doc []byte) error { return unmarshal(doc, m) }

func (m *Message) decode(d *decoder) *fault {
	*m = Message{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "messageId", "message_id":
			return d.string(&m.MessageID)
		case "contextId", "context_id":
			return d.string(&m.ContextID)
		case "taskId", "task_id":
			return d.string(&m.TaskID)
		case "role":
			return m.Role.decode(d)
		case "parts":
			return parts(d, &m.Parts, d.maxParts)
		case "metadata":
			return d.free(&m.Metadata)
		case "extensions":
			return d.strings(&m.Extensions)
		case "referenceTaskIds", "reference_task_ids":
			return d.strings(&m.ReferenceTaskIDs)
		}
		return d.ignore()
	})
}

// parts reads an array of parts, of which there may be most, or any number if
// most is 0.
func parts(d *decoder, p *[]*Part, most int) *fault {
	*p = nil
	tooMany := false
	f := d.array(func(i int) *fault {
		if most > 0 && i >= most {
			tooMany = true
			return faultf("%s", tooManyParts)
		}
		v := new(Part)
		*p = append(*p, v)
		return v.decode(d)
	})
	if tooMany {
		f.path = "" // the fault is the array's, not the element's
	}
	return f
}

// AppendJSON appends the ProtoJSON form.
func (p *Part) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	switch p.Kind {
	case PartText:
		b = text(b, "text", p.Text)
	case PartRaw:
		b = appendBase64(key(b, "raw"), p.Raw)
	case PartURL:
		b = text(b, "url", p.URL)
	case PartData:
		b = p.Data.AppendJSON(key(b, "data"))
	}
	b = optRaw(b, "metadata", p.Metadata)
	b = optText(b, "filename", p.Filename)
	b = optText(b, "mediaType", p.MediaType)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (p Part) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form. A part must have exactly one of
// text, raw, url and data.
func (p *Part) UnmarshalJSON(doc []byte) error { return unmarshal(doc, p) }

var contentNames = [...]string{PartText: "text", PartRaw: "raw", PartURL: "url", PartData: "data"}

func (p *Part) decode(d *decoder) *fault {
	*p = Part{}
	var set uint8 // a bit for each PartKind
	content := func(kind PartKind, read func() *fault) *fault {
		set |= 1 << kind
		if kind != PartData && d.null() { // unset; but null is a value of data
			set &^= 1 << kind
			return nil
		}
		return read()
	}
	f := d.object(func(name []byte) *fault {
		switch string(name) {
		case "text":
			return content(PartText, func() *fault { return d.string(&p.Text) })
		case "raw":
			return content(PartRaw, func() *fault { return d.bytes(&p.Raw) })
		case "url":
			return content(PartURL, func() *fault { return d.string(&p.URL) })
		case "data":
			return content(PartData, func() *fault { return d.any(&p.Data) })
		case "metadata":
			return d.free(&p.Metadata)
		case "filename":
			return d.string(&p.Filename)
		case "mediaType", "media_type":
			return d.string(&p.MediaType)
		}
		return d.ignore()
	})
	if f != nil {
		return f
	}
	// Specification §4.1.6: exactly one content.
	switch bits.OnesCount8(set) {
	case 0:
		return faultf("%s", noContent)
	case 1:
		p.Kind = PartKind(bits.TrailingZeros8(set))
		p.keepContent()
		return nil
	}
	var names []string
	for kind := PartText; kind <= PartData; kind++ {
		if set&(1<<kind) != 0 {
			names = append(names, contentNames[kind])
		}
	}
	return faultf("a part has one content, but this one has %s; send a part for each", strings.Join(names, " and "))
}

// keepContent drops the leftovers of members that were set and then unset by a
// repetition.
func (p *Part) keepContent() {
	if p.Kind != PartText {
		p.Text = ""
	}
	if p.Kind != PartRaw {
		p.Raw = nil
	}
	if p.Kind != PartURL {
		p.URL = ""
	}
}
