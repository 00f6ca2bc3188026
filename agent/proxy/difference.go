package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

// difference returns the chunk that turns the artifact have into the artifact want, to
// be appended or to begin anew with; nil if they are equal. Both have the same id. Some
// servers join the text of chunks, so texts are compared as text, not as parts.
func difference(have, want *a2a.Artifact) (chunk *a2a.Artifact, add bool) {
	switch {
	case have == nil:
		return want, false
	case headDiffers(have, want):
		return want, false
	}
	if n := len(have.Parts); n <= len(want.Parts) && slices.EqualFunc(have.Parts, want.Parts[:n], samePart) {
		return rest(want, want.Parts[n:])
	}
	got, ok := plainText(have.Parts)
	all, ok2 := plainText(want.Parts)
	if ok && ok2 && strings.HasPrefix(all, got) {
		if all = all[len(got):]; all == "" {
			return nil, false
		}
		return rest(want, []*a2a.Part{a2a.TextPart(all)})
	}
	return want, false
}

// rest returns a chunk that appends some parts of an artifact.
func rest(of *a2a.Artifact, parts []*a2a.Part) (*a2a.Artifact, bool) {
	if len(parts) == 0 {
		return nil, false
	}
	return &a2a.Artifact{ArtifactID: of.ArtifactID, Parts: parts}, true
}

// headDiffers compares everything but the parts. A field that want leaves out counts as
// equal, except the metadata.
func headDiffers(have, want *a2a.Artifact) bool {
	return want.Name != "" && want.Name != have.Name || want.Description != "" && want.Description != have.Description ||
		len(want.Extensions) > 0 && !slices.Equal(want.Extensions, have.Extensions) || !sameJSON(have.Metadata, want.Metadata)
}

func samePart(a, b *a2a.Part) bool {
	return a != nil && b != nil && a.Kind == b.Kind && a.Text == b.Text && bytes.Equal(a.Raw, b.Raw) && a.URL == b.URL &&
		a.Filename == b.Filename && a.MediaType == b.MediaType && sameJSON(a.Data, b.Data) && sameJSON(a.Metadata, b.Metadata)
}

func sameJSON(a, b a2a.JSON) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, ok := value(a)
	y, ok2 := value(b)
	return ok && ok2 && reflect.DeepEqual(x, y)
}

func value(doc a2a.JSON) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// plainText joins the text of parts if they are text only.
func plainText(parts []*a2a.Part) (string, bool) {
	var b strings.Builder
	for _, p := range parts {
		if p == nil || p.Kind != a2a.PartText || len(p.Metadata) > 0 || p.Filename != "" || p.MediaType != "" {
			return "", false
		}
		b.WriteString(p.Text)
	}
	return b.String(), true
}

// idOK reports whether a foreign id can be kept unchanged. An empty one can.
func idOK(id string) bool {
	return len(id) <= a2a.MaxID && utf8.ValidString(id) && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// artifactID returns the id that an artifact of the agent has here: the same id, if it
// is valid here.
func artifactID(id string) string {
	switch {
	case id == "":
		return "artifact"
	case idOK(id):
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
