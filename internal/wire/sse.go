package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Event is one server-sent event.
type Event struct {
	ID   string // of this event; "" if it carries none
	Name string // the event field; "" means an ordinary message
	Data []byte // data lines joined with \n, never empty
}

// ErrEventTooLarge is returned, wrapped, for an event or a line that exceeds
// the limit of its Reader.
var ErrEventTooLarge = errors.New("server-sent event is too large")

// KeepAlive is a comment, which readers skip. It keeps intermediaries from closing a
// silent stream. No empty line follows: there is no event to end, and the reader of the
// Python clients would deliver an event without data, once it has seen an id.
var KeepAlive = []byte(": keep-alive\n")

// Reader splits a byte stream into events as the HTML standard says: lines end in LF,
// CR or CRLF, comments and unknown fields are skipped, events without data are dropped,
// a leading byte order mark is ignored. The retry field is ignored too. To know whether
// the peer is alive, watch the reads on the underlying reader: a comment causes one,
// but no event.
type Reader struct {
	r       *bufio.Reader
	max     int
	line    []byte // a line that did not fit into r's buffer
	data    []byte // data of the event being read
	afterCR bool   // the last line ended in CR: a LF that follows belongs to it
	begun   bool   // the first line was read
	joins   bool   // JSON may continue in lines that are no fields
	err     error  // sticky
}

// NewReader returns a reader of events. max bounds a line and the data of an
// event, in bytes.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 16<<10), max: max}
}

// JoinJSON makes the reader take a line as data if it is no field but continues the
// JSON of the data line before it, as the examples of version 0.1 print it. Such lines
// begin like JSON, as no field does; by the standard they would be skipped.
func (r *Reader) JoinJSON() { r.joins = true }

// goesOn reports whether a line after data continues its JSON.
func goesOn(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	if len(line) == 0 {
		return false
	}
	switch c := line[0]; {
	case bytes.IndexByte([]byte(`{}[]",-`), c) >= 0, c >= '0' && c <= '9':
		return true
	}
	switch string(bytes.TrimRight(line, ", \t")) {
	case "true", "false", "null":
		return true
	}
	return false
}

// Next returns the next event. Its Data is valid until the following call. The error is
// io.EOF if the stream ends between events, and io.ErrUnexpectedEOF if it ends inside
// one, which is then lost. Errors of the underlying reader are returned unchanged.
// After an error Next returns it again.
func (r *Reader) Next() (Event, error) {
	if r.err != nil {
		return Event{}, r.err
	}
	ev, err := r.next()
	if err != nil {
		r.err = err
		return Event{}, err
	}
	return ev, nil
}

func (r *Reader) next() (Event, error) {
	var ev Event
	r.data = r.data[:0]
	fields := 0 // in the block being read; its comments count for nothing
	lines := 0  // of data
	for {
		line, err := r.readLine()
		if err == io.EOF && (fields > 0 || len(line) > 0 && line[0] != ':') {
			return Event{}, io.ErrUnexpectedEOF
		}
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if len(r.data) > 0 {
				ev.Data = r.data
				return ev, nil
			}
			ev, fields, lines = Event{}, 0, 0
			continue
		}
		if line[0] == ':' {
			continue
		}
		fields++
		name, value, _ := bytes.Cut(line, []byte{':'})
		if r.joins && lines > 0 && goesOn(line) {
			name, value = []byte("data"), line
		}
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			if lines > 0 {
				r.data = append(r.data, '\n')
			}
			lines++
			if len(r.data)+len(value) > r.max {
				return Event{}, r.tooLarge()
			}
			r.data = append(r.data, value...)
		case "event":
			ev.Name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 { // the standard ignores such ids
				ev.ID = string(value)
			}
		}
	}
}

// readLine returns the next line without its end. The slice is valid until
// the next read. With io.EOF it returns what followed the last line end.
func (r *Reader) readLine() ([]byte, error) {
	line, err := r.rawLine()
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, err
}

func (r *Reader) rawLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		// Look only at what has arrived: waiting for the byte after a CR would delay an
		// event.
		if r.r.Buffered() == 0 {
			if _, err := r.r.Peek(1); err != nil && r.r.Buffered() == 0 {
				return r.line, err
			}
		}
		b, _ := r.r.Peek(r.r.Buffered())
		if r.afterCR {
			r.afterCR = false
			if b[0] == '\n' {
				_, _ = r.r.Discard(1)
				continue
			}
		}
		end := lineEnd(b)
		n := end
		if end < 0 {
			n = len(b)
		}
		// A byte order mark and "data: " may come on top of max bytes of data.
		if len(r.line)+n > r.max+16 {
			return nil, r.tooLarge()
		}
		if end < 0 {
			r.line = append(r.line, b...)
			_, _ = r.r.Discard(n)
			continue
		}
		r.afterCR = b[end] == '\r'
		line := b[:end]
		if len(r.line) > 0 {
			r.line = append(r.line, line...)
			line = r.line
		}
		_, _ = r.r.Discard(end + 1) // does not touch the bytes under line
		return line, nil
	}
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	head := b
	if lf >= 0 {
		head = b[:lf]
	}
	if cr := bytes.IndexByte(head, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func (r *Reader) tooLarge() error {
	return fmt.Errorf("%w: more than %d bytes", ErrEventTooLarge, r.max)
}

// AppendEvent appends an event to dst. Line breaks in data become several data lines,
// which a Reader joins with LF. id and name may be empty, and are omitted if they
// contain a line break or NUL, which the format cannot carry.
func AppendEvent(dst []byte, id, name string, data []byte) []byte {
	dst = appendField(dst, "id: ", id)
	dst = appendField(dst, "event: ", name)
	for {
		end := lineEnd(data)
		if end < 0 {
			break
		}
		dst = append(dst, "data: "...)
		dst = append(dst, data[:end]...)
		dst = append(dst, '\n')
		if data[end] == '\r' && end+1 < len(data) && data[end+1] == '\n' {
			end++
		}
		data = data[end+1:]
	}
	dst = append(dst, "data: "...)
	dst = append(dst, data...)
	return append(dst, "\n\n"...)
}

// BeginEvent begins an event whose data is appended in place, in one line.
func BeginEvent(dst []byte) []byte { return append(dst, "data: "...) }

// EndEvent ends an event that began at start. An id of 0 means no id.
func EndEvent(dst []byte, start int, id int64) []byte {
	dst = append(dst, "\n\n"...)
	if id == 0 {
		return dst
	}
	var room [32]byte
	field := append(strconv.AppendInt(append(room[:0], "id: "...), id, 10), '\n')
	return slices.Insert(dst, start, field...)
}

func appendField(dst []byte, name, value string) []byte {
	if value == "" || strings.ContainsAny(value, "\r\n\x00") {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, value...)
	return append(dst, '\n')
}
