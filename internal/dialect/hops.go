package dialect

import (
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// The extension that keeps agents from delegating in circles:
// docs/extensions/hops-v1.md.
const (
	// HopsURI identifies the extension; it is the address of its page.
	HopsURI = "https://github.com/parley-a2a/parley/blob/main/docs/extensions/hops-v1.md"
	// HopsHeader says, over HTTP and in gRPC metadata, how many agents a request came
	// through. If it is missing, none.
	HopsHeader = "Agent-Hops"

	maxHops = 1000
)

// HopsExtension returns a card's declaration that the agent counts hops and refuses
// requests that came through more than max agents; with max below 0, none.
func HopsExtension(max int) *a2a.AgentExtension {
	e := &a2a.AgentExtension{
		URI:         HopsURI,
		Description: "Requests that came through too many agents (" + HopsHeader + ") are refused, so that agents do not call each other in circles without end.",
	}
	if max >= 0 {
		e.Params = a2a.JSON(`{"max":` + strconv.Itoa(max) + `}`)
	}
	return e
}

// ReadHops reads the lines of HopsHeader. Of several the largest counts, because an
// intermediary may have added one. More than 1000 count as 1000. The error is
// InvalidParams and names the header.
func ReadHops(lines []string) (int, error) {
	hops := 0
	for _, line := range lines {
		line = strings.Trim(line, " \t")
		n, err := strconv.ParseUint(line, 10, 64)
		if err != nil && len(strings.TrimLeft(line, "0123456789")) > 0 || line == "" {
			return 0, a2a.Invalid(HopsHeader, "must be a number: how many agents the request came through")
		}
		hops = max(hops, int(min(n, maxHops))) // out of range, n is the largest uint64
	}
	return hops, nil
}

// FormatHops writes a number of agents for HopsHeader.
func FormatHops(n int) string { return strconv.Itoa(max(0, min(n, maxHops))) }
