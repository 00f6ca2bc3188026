package a2a

import (
	"math/bits"
	"strings"

	"github.com/parley-a2a/parley/internal/json"
)

// contentFields is the number of fields of a Part that hold its content: one for each
// PartKind, in the same order.
const contentFields = 4

var contentNames = [contentFields]string{"text", "raw", "url", "data"}

// whichContent sets the kind of a part, which has exactly one content
// (specification §4.1.6).
func whichContent(p *Part, seen json.Seen) *json.Fault {
	content := uint8(seen) & (1<<contentFields - 1)
	switch bits.OnesCount8(content) {
	case 0:
		return json.Faultf("%s", noContent)
	case 1:
		p.Kind = PartText + PartKind(bits.TrailingZeros8(content))
		return nil
	}
	var names []string
	for i, name := range contentNames {
		if seen.Has(i) {
			names = append(names, name)
		}
	}
	return json.Faultf("a part has one content, but this one has %s; send a part for each", strings.Join(names, " and "))
}
