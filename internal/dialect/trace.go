package dialect

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
)

// TraceHeader says over HTTP, and over gRPC as metadata, which trace a request
// belongs to (W3C Trace Context, §3.2).
const TraceHeader = "Traceparent"

// TraceStateHeader has what systems on the way of a trace say about it (§3.3). It goes
// with TraceHeader.
const TraceStateHeader = "Tracestate"

// ReadTrace reads the lines of TraceHeader: "" unless there is exactly one, of the form
// of version 00. Of a later version it reads the beginning, which has that form, as the
// specification says (§3.2.4).
func ReadTrace(lines []string) string {
	const size = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(lines) != 1 || len(lines[0]) < size {
		return ""
	}
	s := lines[0]
	trace, some := s[3:35], false
	for i := range size {
		c := s[i]
		switch {
		case i == 2 || i == 35 || i == 52:
			if c != '-' {
				return ""
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return ""
		case i > 35 && i < 52:
			some = some || c != '0'
		}
	}
	if !some || trace == "00000000000000000000000000000000" || s[:2] == "ff" {
		return ""
	}
	switch {
	case len(s) == size && s[:2] == "00":
		return s
	case s[:2] == "00" || len(s) > size && s[size] != '-':
		return ""
	}
	return "00" + s[2:size]
}

// Bounds of a tracestate. The specification forbids passing on more members, and
// requires no more bytes.
const (
	maxTraceState   = 512
	maxTraceMembers = 32
)

// ReadTraceState reads the lines of TraceStateHeader, of which there may be several
// (§3.3.1.1): "" if they are too long or have invalid characters.
func ReadTraceState(lines []string) string {
	s := ""
	for _, line := range lines {
		line = strings.Trim(line, " \t,")
		if line == "" {
			continue
		}
		if s != "" {
			s += ","
		}
		if s += line; len(s) > maxTraceState {
			return ""
		}
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ""
		}
	}
	if strings.Count(s, ",") >= maxTraceMembers {
		return ""
	}
	return s
}

// TraceIn looks for a traceparent in the metadata of a message, and then in that of its
// request, for callers whose transport has no headers: in the object of any extension,
// metadata[uri].traceparent, with tracestate beside it. There is no agreed URI yet.
func TraceIn(req any) (traceparent, tracestate string) {
	r, ok := req.(*a2a.SendMessageRequest)
	if !ok {
		return "", ""
	}
	if r.Message != nil {
		if traceparent, tracestate = traceIn(r.Message.Metadata); traceparent != "" {
			return traceparent, tracestate
		}
	}
	return traceIn(r.Metadata)
}

func traceIn(metadata a2a.JSON) (traceparent, tracestate string) {
	if !bytes.Contains(metadata, traceMember) {
		return "", "" // the usual case, without parsing
	}
	for _, extension := range membersOf(metadata) {
		if extension.raw[0] != '{' {
			continue
		}
		in := scanMembers(nil, extension.raw)
		s, _ := json.Unquote(in.get("traceparent"))
		if traceparent = ReadTrace([]string{s}); traceparent != "" {
			s, _ = json.Unquote(in.get("tracestate"))
			return traceparent, ReadTraceState([]string{s})
		}
	}
	return "", ""
}

var traceMember = []byte(`"traceparent"`)

// ErrorType returns the code with which a binding and a dialect answer an error, for
// the attribute error.type of a call's span: of JSON-RPC -32001, of HTTP+JSON 404, of
// gRPC NOT_FOUND.
func ErrorType(d Dialect, binding string, c a2a.Code) string {
	switch binding {
	case a2a.BindingJSONRPC:
		return strconv.Itoa(errorRowIn(d, c).RPC)
	case a2a.BindingGRPC:
		return grpcStatus(d, c)
	}
	return strconv.Itoa(HTTPStatus(d, c))
}
