package dialect

import (
	"bytes"
	stdjson "encoding/json"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
)

// parts reads the content of a message or an artifact in every form that an older
// version, or a sample of one, has given it. The list is called parts; content in the
// proto form of 0.3; and data in a sample of 0.1, if that is a list of objects. It is
// nil if there is none.
func (o *object) parts() []*a2a.Part {
	if o == nil {
		return nil
	}
	names := []string{"parts", "content"}
	if raw, _ := o.find([]string{"data"}); !o.has(names...) && listOfObjects(raw) {
		names = []string{"data"}
	}
	var list []*a2a.Part
	o.each(func(p *object) {
		if !o.part() {
			return
		}
		before := len(p.faults.list)
		part := p.content()
		if len(p.faults.list) > before && p.faults.max == 0 {
			// In an answer, a part that we cannot read must not cost the others.
			p.faults.list = p.faults.list[:before]
			part = &a2a.Part{Kind: a2a.PartUnknown, Data: a2a.JSON(bytes.Clone(p.raw))}
		}
		list = append(list, part)
	}, names...)
	return list
}

func listOfObjects(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '[' {
		return false
	}
	list := scanElements(raw)
	for _, in := range list {
		if in[0] != '{' {
			return false
		}
	}
	return len(list) > 0
}

// content reads one part by its members. type and kind are hints, used only if a part
// has more than one content.
func (o *object) content() *a2a.Part {
	p := &a2a.Part{Metadata: o.json("metadata"), Filename: o.text("filename"), MediaType: o.text("mediaType")}
	var kinds []string
	for _, name := range []string{"text", "file", "data", "raw", "url"} {
		if o.has(name) {
			kinds = append(kinds, name)
		}
	}
	if hint := o.text("type", "kind"); slices.Contains(kinds, hint) {
		kinds = []string{hint}
	} else if hint != "" && hint != "text" && hint != "file" && hint != "data" || hint == "" && o.has("kind") {
		name := "kind"
		if !o.has("kind") {
			name = "type" // which version 0.1 has for it
		}
		o.bad(o.at(name), "is not a kind of part: use text, file or data")
		return p
	}
	if len(kinds) != 1 {
		o.bad(o.path(), "needs exactly one of text, file and data")
		return p
	}
	switch kinds[0] {
	case "text":
		p.Kind, p.Text = a2a.PartText, o.text("text")
	case "data":
		p.Kind, p.Data = a2a.PartData, o.data()
		o.unwrapData(p)
	case "raw":
		p.Kind, p.Raw = a2a.PartRaw, o.bytes("raw")
	case "url":
		p.Kind, p.URL = a2a.PartURL, o.text("url")
	default:
		o.object("file").file(p)
	}
	return p
}

// file reads the file of a part. Content takes precedence over a reference to it.
func (o *object) file(p *a2a.Part) {
	if o == nil {
		return
	}
	p.Filename = o.text("name", "filename")
	p.MediaType = o.text("mimeType", "mediaType")
	inline, link := []string{"bytes", "fileWithBytes", "data", "raw"}, []string{"uri", "fileWithUri", "url"}
	switch raw, _ := o.find(inline); {
	case raw != nil && (string(raw) != `""` || !o.has(link...)):
		p.Kind, p.Raw = a2a.PartRaw, o.bytes(inline...)
		if o.has("fileWithBytes") {
			p.Raw = undouble(p.Raw, p.MediaType)
		}
	case o.has(link...):
		p.Kind, p.URL = a2a.PartURL, o.text(link...)
	default:
		o.bad(o.path(), "needs bytes or uri")
	}
}

// compatData marks, in the metadata of a part, data that is no object. Before 1.0 data
// had to be an object, so other data is the member value of one there. Other
// implementations do the same.
const compatData = "data_part_compat"

// wrapData returns the data and the metadata of a part in the form of versions that
// have only objects.
func wrapData(p *a2a.Part) (data, metadata a2a.JSON) {
	if bytes.HasPrefix(bytes.TrimLeft(p.Data, " \t\r\n"), []byte{'{'}) {
		return p.Data, p.Metadata
	}
	return a2a.JSON(wrap("value", p.Data.AppendJSON(nil))), withMember(p.Metadata, compatData, []byte("true"))
}

// unwrapData undoes wrapData.
func (o *object) unwrapData(p *a2a.Part) {
	if flag, _ := member(p.Metadata, compatData); string(flag) != "true" {
		return
	}
	if all := membersOf(p.Data).unique(); len(all) == 1 && all["value"] != nil {
		value := all["value"]
		p.Data, p.Metadata = a2a.JSON(value), withoutMember(p.Metadata, compatData)
	}
}

// mimeMetadata returns the metadata of a text or data part with its media type added,
// because versions before 1.0 have no other place for it. It is not removed when it is
// read: there the member means whatever two peers agreed on, such as the form of the
// answer.
func mimeMetadata(metadata a2a.JSON, mediaType string) a2a.JSON {
	if _, ok := member(metadata, "mimeType"); ok || mediaType == "" {
		return metadata
	}
	return withMember(metadata, "mimeType", appendText(nil, mediaType))
}

// member returns a member of an object that is kept raw.
func member(obj a2a.JSON, name string) (stdjson.RawMessage, bool) {
	if text := string(obj); !strings.Contains(text, `"`+name+`"`) && !strings.Contains(text, `\`) {
		return nil, false // the usual case, without parsing
	}
	raw := membersOf(obj).get(name)
	return raw, raw != nil
}

// membersOf returns the members of a value that is kept raw. A value that is not
// an object has no members.
func membersOf(v a2a.JSON) members {
	if !soundObject(v) {
		return nil
	}
	return scanMembers(nil, v)
}

// soundObject reports whether a value is an object that can be read.
func soundObject(v []byte) bool {
	flaw, _ := json.Check(v, json.Deepest)
	return (flaw == json.Sound || flaw == json.Encoding) && json.Read(v).Peek() == '{'
}

// withMember returns an object with a member added in front, which replaces one of the
// same name.
func withMember(obj a2a.JSON, name string, value []byte) a2a.JSON {
	out := append(append(append([]byte{'{'}, appendText(nil, name)...), ':'), value...)
	rest := bytes.TrimLeft(withoutMember(obj, name), " \t\r\n")
	if len(rest) > 0 && rest[0] == '{' {
		if rest = bytes.TrimLeft(rest[1:], " \t\r\n"); rest[0] != '}' {
			return append(append(out, ','), rest...)
		}
	}
	return append(out, '}')
}

// withoutMember returns an object without a member; nil if it has no other.
func withoutMember(obj a2a.JSON, name string) a2a.JSON {
	if _, ok := member(obj, name); !ok {
		return obj
	}
	var out []byte
	for _, in := range membersOf(obj) {
		if string(in.name) != name {
			out = append(appendText(append(out, ','), string(in.name)), ':')
			out = append(out, in.raw...)
		}
	}
	if len(out) == 0 {
		return nil
	}
	out[0] = '{'
	return append(out, '}')
}
