package dialect

// TraceHeader says over HTTP, and over gRPC as metadata, which trace a request
// belongs to (W3C Trace Context, §3.2).
const TraceHeader = "Traceparent"

// ReadTrace reads the lines of TraceHeader: "" unless there is one, of the form
// of version 00. A later version is read as the specification has it (§3.2.4): its
// beginning is of that form, and the rest is nothing that we know.
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
