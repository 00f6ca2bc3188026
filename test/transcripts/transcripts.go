// Package transcripts reads the wire transcripts of testdata/wire and compares
// documents by meaning. It serves the tests of both ends of the network and
// knows nothing of the protocol: testdata/wire/README.md describes the format.
package transcripts

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// File is one transcript.
type File struct {
	Name      string // such as v0.3/jsonrpc/send-task
	Dialect   string // such as v0.3
	Binding   string // jsonrpc or rest
	Foreign   bool   // what only other implementations send: for the client alone
	About     string // the text at the top
	Exchanges []*Exchange
}

// Exchange is a request with its answer, as it is on the wire and as both ends
// understand it. Sections that are not there are nil.
type Exchange struct {
	Call     *Call // what the caller of the client asks for
	Request  *Message
	Service  *Call    // what the service behind the server is asked
	Answer   []string // what it answers: JSON documents
	Response *Message
	Result   []string // what the caller gets
}

// Call is an operation, by its name of 1.0, and the request as 1.0 JSON.
type Call struct {
	Op  string
	Doc string
	// Anyhow is set where the request on the wire is one that our client would
	// make in another way.
	Anyhow bool
}

// OfCard reports whether it is the public card that is fetched, which is no
// operation.
func (x *Exchange) OfCard() bool { return x.Call != nil && x.Call.Op == "AgentCard" }

// Message is a request or a response of HTTP.
type Message struct {
	Line   string // "POST /" or "200"
	Header [][2]string
	Body   string
}

// Load reads all transcripts below a directory, in order.
func Load(root string) ([]*File, error) {
	var files []*File
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txtar" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		f, err := Parse(strings.TrimSuffix(filepath.ToSlash(name), ".txtar"), string(data))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// Parse reads a transcript. Its name says the dialect and the binding.
func Parse(name, data string) (*File, error) {
	dirs := strings.Split(name, "/")
	if len(dirs) != 3 {
		return nil, fmt.Errorf("transcripts are named <dialect>/<binding>/<name>")
	}
	f := &File{Name: name, Dialect: dirs[0], Binding: dirs[1], Foreign: strings.HasPrefix(dirs[2], "foreign-")}
	about, sections := split(data)
	if f.About = strings.TrimSpace(about); f.About == "" {
		return nil, fmt.Errorf("the first line must say what the transcript shows")
	}
	for _, s := range sections {
		if err := f.add(s.name, s.body); err != nil {
			return nil, fmt.Errorf("exchange %d, %s: %w", len(f.Exchanges), s.name, err)
		}
	}
	for i, x := range f.Exchanges {
		if err := x.check(f.Foreign); err != nil {
			return nil, fmt.Errorf("exchange %d: %w", i+1, err)
		}
	}
	if len(f.Exchanges) == 0 {
		return nil, fmt.Errorf("there is no exchange")
	}
	return f, nil
}

type section struct{ name, body string }

// split cuts at lines of the form "-- name --".
func split(data string) (about string, sections []section) {
	into := &about
	for line := range strings.Lines(data) {
		text := strings.TrimSpace(line)
		if len(text) > 6 && strings.HasPrefix(text, "-- ") && strings.HasSuffix(text, " --") {
			sections = append(sections, section{name: text[3 : len(text)-3]})
			into = &sections[len(sections)-1].body
			continue
		}
		*into += line
	}
	return about, sections
}

// add appends a section. An exchange begins with its call or, where there is
// none, its request.
func (f *File) add(name, body string) (err error) {
	n := len(f.Exchanges)
	if name == "call" || name == "request" && (n == 0 || f.Exchanges[n-1].Request != nil) {
		f.Exchanges = append(f.Exchanges, new(Exchange))
	}
	if len(f.Exchanges) == 0 {
		return fmt.Errorf("an exchange begins with a call or a request")
	}
	x := f.Exchanges[len(f.Exchanges)-1]
	switch name {
	case "call":
		x.Call, err = parseCall(body)
	case "request":
		x.Request = parseMessage(body)
	case "service":
		x.Service, err = parseCall(body)
	case "answer":
		x.Answer, err = documents(body)
	case "response":
		x.Response = parseMessage(body)
	case "result":
		x.Result, err = documents(body)
	default:
		return fmt.Errorf("there is no such section")
	}
	return err
}

func (x *Exchange) check(foreign bool) error {
	switch {
	case x.Request == nil || x.Response == nil:
		return fmt.Errorf("it needs a request and a response")
	case foreign && (x.Call == nil || x.Result == nil || x.Answer != nil || x.Service != nil):
		return fmt.Errorf("what a foreign server sends needs a call and a result, and has no service or answer")
	case x.Call != nil && x.Answer == nil && x.Result == nil:
		return fmt.Errorf("a call needs an answer or a result")
	case x.Service != nil && x.Answer == nil:
		return fmt.Errorf("a service needs an answer")
	case x.Call == nil && x.Result != nil:
		return fmt.Errorf("a result needs a call")
	}
	if _, err := strconv.Atoi(x.Response.Line); err != nil {
		return fmt.Errorf("the response must begin with a status")
	}
	return nil
}

func parseCall(body string) (*Call, error) {
	first, doc, _ := strings.Cut(body, "\n")
	words := strings.Fields(first)
	if len(words) == 0 || len(words) > 2 || len(words) == 2 && words[1] != "anyhow" {
		return nil, fmt.Errorf("the first line must be an operation, and perhaps the word anyhow")
	}
	if doc = strings.TrimSpace(doc); !json.Valid([]byte(doc)) {
		return nil, fmt.Errorf("below the operation must be a JSON document")
	}
	return &Call{Op: words[0], Doc: doc, Anyhow: len(words) == 2}, nil
}

func parseMessage(body string) *Message {
	head, body, _ := strings.Cut(body, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	m := &Message{Line: lines[0], Body: strings.TrimSuffix(body, "\n")}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		m.Header = append(m.Header, [2]string{name, strings.TrimSpace(value)})
	}
	if m.Get("Content-Type") == EventStream {
		m.Body = strings.TrimRight(body, "\n") + "\n\n" // the blank line that ends the last event
	}
	return m
}

// EventStream is the media type whose bodies are events.
const EventStream = "text/event-stream"

// Get returns a header's value, or "".
func (m *Message) Get(name string) string {
	for _, h := range m.Header {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

// documents reads JSON values that follow each other.
func documents(body string) ([]string, error) {
	docs := []string{}
	d := json.NewDecoder(strings.NewReader(body))
	for d.More() {
		var doc json.RawMessage
		if err := d.Decode(&doc); err != nil {
			return nil, err
		}
		docs = append(docs, string(doc))
	}
	return docs, nil
}
