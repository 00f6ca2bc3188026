package dialect

import (
	"bytes"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
)

func (e v1Events) form(*a2a.StreamResponse) (uint64, bool) {
	if e.draft {
		return sharedV11, true
	}
	return sharedV10, true
}

// appendStored appends an event as its log has it. That is the form of the 1.1 draft,
// and without the last member, the generation, the form of 1.0.
func (e v1Events) appendStored(dst []byte, el *a2a.StreamResponse) ([]byte, bool) {
	doc := el.Shared.Stored()
	if doc == nil || e.draft {
		return append(dst, doc...), doc != nil
	}
	generation := int64(0)
	switch {
	case el.StatusUpdate != nil && len(el.StatusUpdate.Status.Elicitations) > 0:
		return dst, false
	case el.StatusUpdate != nil:
		generation = el.StatusUpdate.Generation
	case el.ArtifactUpdate != nil:
		generation = el.ArtifactUpdate.Generation
	}
	if generation == 0 {
		return dst, false
	}
	var room [48]byte
	end := strconv.AppendInt(append(room[:0], `,"generation":"`...), generation, 10)
	rest, ok := bytes.CutSuffix(doc, append(end, `"}}`...))
	if !ok {
		return dst, false
	}
	return append(append(dst, rest...), "}}"...), true
}
