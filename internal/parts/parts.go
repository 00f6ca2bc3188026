// Package parts makes the parts of a message from a command line: texts, files, URLs, JSON
// documents and standard input, in their order (a2a-cli §10.2).
package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
)

// maxFile caps the input for one part, in bytes. Agents accept far less; the cap only keeps a
// mistake from filling the memory.
const maxFile = 64 << 20

// flag is one --text, --file or --data.
type flag struct {
	kind      string // the flag's name
	value     string
	mediaType string // of the --media-type after it; "" if there is none
}

// List collects the parts of a message in the order of the command line, across flags.
type List []flag

// Register adds the flags.
func (p *List) Register(fs *pflag.FlagSet) {
	fs.Var(p.add("text"), "text", "add a text part; may be repeated and mixed with --file and --data, the order is kept")
	fs.Var(p.add("file"), "file", "add a file: a `path`, sent along, or a URL, which the agent fetches")
	fs.Var(p.add("data"), "data", "add a data part from a JSON `file`; - reads standard input")
	fs.Var(flagvalue.New("string", p.setMediaType, nil), "media-type", "media `type` of the part just before, such as text/markdown")
}

// add returns a value that appends a part of this kind.
func (p *List) add(kind string) *flagvalue.Value {
	return flagvalue.New("string", func(s string) error {
		*p = append(*p, flag{kind: kind, value: s})
		return nil
	}, nil)
}

// setMediaType sets the value of --media-type.
func (p *List) setMediaType(s string) error {
	if len(*p) == 0 {
		return errors.New("put it behind the --text, --file or --data it is about")
	}
	last := &(*p)[len(*p)-1]
	if last.mediaType != "" {
		return fmt.Errorf("the --%s before it has a media type already, %s", last.kind, last.mediaType)
	}
	if _, _, err := mime.ParseMediaType(s); err != nil || !strings.Contains(s, "/") {
		return errors.New("must be a media type such as application/pdf")
	}
	last.mediaType = s
	return nil
}

// Of makes the parts of a message: the positional text first, then the flags in their order. -
// stands for standard input, once. Blank texts are left out, such as from a script whose
// variable is empty; at least one part must remain.
func Of(ctx context.Context, args []string, list List, stdin io.Reader) ([]*a2a.Part, error) {
	if len(args) > 0 {
		list = append(List{{kind: "text", value: args[0]}}, list...)
	}
	implied := len(list) == 0 && piped(stdin)
	if implied {
		args, list = []string{"-"}, List{{kind: "text", value: "-"}}
	}
	in := &onceReader{ctx: ctx, r: stdin}
	var parts []*a2a.Part
	for i, f := range list {
		var p *a2a.Part
		var err error
		switch {
		case f.kind == "file":
			p, err = File(f.value)
		case f.kind == "data":
			p, err = dataPart(f.value, in)
		case i == 0 && len(args) > 0 && f.value == "-":
			p, err = stdinText(in)
		default:
			p = a2a.TextPart(strings.ToValidUTF8(f.value, "\uFFFD"))
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			failed := failure.Usagef("--%s %s: %v", f.kind, plain.Quote(f.value), err)
			if f.kind == "data" && strings.ContainsAny(f.value, "{[") {
				return nil, failed.WithHint("--data takes the name of a file, not JSON; - reads standard input: echo %s | parley send --data -", plain.Quote(f.value))
			}
			return nil, failed
		}
		if f.mediaType != "" {
			p.MediaType = f.mediaType
		}
		if p.Kind != a2a.PartText || strings.TrimSpace(p.Text) != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		why := "the message is empty"
		switch {
		case implied:
			why = "no message was given, and standard input is empty"
		case len(list) == 0:
			why = "no message was given"
		}
		return nil, failure.Usagef("there is nothing to send: %s", why).WithHint(`give the message as an argument, parley send "hello", through a pipe, or as --text, --file or --data`)
	}
	return parts, nil
}

// piped reports whether standard input is not a terminal, but a file or another program.
func piped(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && (st.Mode().IsRegular() || st.Mode()&os.ModeNamedPipe != 0)
}

// onceReader is standard input, which two parts cannot share.
type onceReader struct {
	ctx  context.Context // of the command that reads it
	r    io.Reader
	used bool
}

func (o *onceReader) readAll() ([]byte, error) {
	if o.used {
		return nil, errors.New("standard input is read by an earlier part already")
	}
	o.used = true
	type result struct {
		b   []byte
		err error
	}
	done := make(chan result, 1)
	go func() { // reading from a terminal cannot be interrupted; the process ends instead
		b, err := readCapped(o.r)
		done <- result{b, err}
	}()
	select {
	case r := <-done:
		return r.b, r.err
	case <-o.ctx.Done():
		return nil, context.Cause(o.ctx)
	}
}

func readCapped(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("more than %d MiB cannot be sent along; pass a URL instead", maxFile>>20)
	}
	return b, err
}

func stdinText(in *onceReader) (*a2a.Part, error) {
	b, err := in.readAll()
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, errors.New("standard input is not UTF-8 text; send it as a --file")
	}
	return a2a.TextPart(string(b)), nil
}

func dataPart(file string, in *onceReader) (*a2a.Part, error) {
	var doc []byte
	var err error
	if file == "-" {
		doc, err = in.readAll()
	} else {
		doc, err = ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	if !json.Valid(doc) || !utf8.Valid(doc) {
		return nil, errors.New("is not a JSON document")
	}
	p := a2a.DataPart(a2a.JSON(strings.TrimSpace(string(doc))))
	p.MediaType = "application/json"
	return p, nil
}

var urlScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// File makes a part from a path, or from a URL that the agent fetches.
func File(value string) (*a2a.Part, error) {
	if urlScheme.MatchString(value) {
		u, err := url.Parse(value)
		switch {
		case err != nil:
			return nil, errors.New("is not a URL")
		case !strings.EqualFold(u.Scheme, "file"):
			name := path.Base(u.Path)
			if name == "/" || name == "." {
				name = ""
			}
			return a2a.URLPart(value, typeByExtension(name), name), nil
		case u.Host != "" && u.Host != "localhost":
			return nil, errors.New("a file: URL of another host cannot be read")
		}
		value = filepath.FromSlash(u.Path)
	}
	b, err := ReadFile(value)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(value)
	mediaType := typeByExtension(name)
	if mediaType == "" {
		mediaType = bare(http.DetectContentType(b))
	}
	return a2a.RawPart(b, mediaType, name), nil
}

// ReadFile reads a file of at most 64 MiB. Its errors do not contain the name.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		var b []byte
		if b, err = readCapped(f); err == nil {
			return b, nil
		}
	}
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err // the caller names the file
	}
	return nil, err
}

// types are known on every machine; the system's tables come second.
var types = map[string]string{
	".csv": "text/csv", ".gif": "image/gif", ".htm": "text/html", ".html": "text/html",
	".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".json": "application/json", ".md": "text/markdown",
	".mp3": "audio/mpeg", ".mp4": "video/mp4", ".pdf": "application/pdf", ".png": "image/png",
	".svg": "image/svg+xml", ".txt": "text/plain", ".wav": "audio/wav", ".webp": "image/webp",
	".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml", ".zip": "application/zip",
}

// typeByExtension returns the media type that a file's name suggests, or "".
func typeByExtension(name string) string {
	ext := strings.ToLower(path.Ext(name))
	if t, ok := types[ext]; ok {
		return t
	}
	return bare(mime.TypeByExtension(ext))
}

// bare returns a media type without parameters, because the charset of a file is not known.
func bare(mediaType string) string {
	t, _, _ := strings.Cut(mediaType, ";")
	return strings.TrimSpace(t)
}
