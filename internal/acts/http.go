package acts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/wire"
)

// exchanged is one HTTP request to make.
type exchanged struct {
	method, url string
	header      http.Header
	body        []byte
	binding     string
	version     string
	operation   string
	event       func(data []byte) *StreamEvent // of a stream; nil: streams are not expected
	note        func(*StreamEvent)
}

// exchange makes an HTTP request. The caller fills in the fields of the Answer
// besides raw.
func exchange(ctx context.Context, o *Options, x *exchanged) *Answer {
	a := &Answer{op: x.operation, exchange: &Exchange{Binding: x.binding, Version: x.version, Operation: x.operation}}
	ctx, cancel := context.WithCancel(ctx)
	var body io.Reader
	if x.body != nil {
		body = bytes.NewReader(x.body)
	}
	req, err := http.NewRequestWithContext(ctx, x.method, x.url, body)
	if err != nil {
		cancel()
		a.broken = err
		return a
	}
	req.Header = x.header
	a.exchange.Request = slices.Concat([]string{x.method + " " + x.url}, o.headerLines(x.header), o.bodyLines(x.body))
	res, err := o.client().Do(req)
	if err != nil {
		cancel()
		a.broken = o.hideErr(err)
		return a
	}
	a.status, a.header = res.StatusCode, res.Header
	a.exchange.Response = append([]string{fmt.Sprintf("HTTP %d", res.StatusCode)}, o.headerLines(res.Header)...)
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/event-stream" && x.event != nil {
		a.exchange.Response = append(a.exchange.Response, "")
		r := wire.NewReader(res.Body, maxBody)
		a.stream = openStream(cancel, func() (*StreamEvent, error) {
			ev, err := r.Next()
			switch {
			case errors.Is(err, io.EOF):
				res.Body.Close()
				return nil, nil
			case err != nil:
				res.Body.Close()
				return nil, o.hideErr(err)
			}
			return x.event(ev.Data), nil
		}, x.note)
		return a
	}
	defer cancel()
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	a.exchange.Response = append(a.exchange.Response, o.bodyLines(text)...)
	if err != nil {
		a.broken = o.hideErr(err)
		return a
	}
	if v, err := decode(text); err == nil {
		a.raw = v
	}
	return a
}

const maxShownBody = 4096

// bodyLines are an empty line and a body, as a report shows them.
func (o *Options) bodyLines(body []byte) []string {
	if len(body) == 0 {
		return nil
	}
	return append([]string{""}, strings.Split(o.hide(cut(strings.ToValidUTF8(string(body), "\uFFFD"), maxShownBody)), "\n")...)
}

func (o *Options) headerLines(h http.Header) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			lines = append(lines, name+": "+o.hide(v))
		}
	}
	return lines
}

// hide takes the credentials out of a text.
func (o *Options) hide(s string) string {
	for _, secret := range o.secrets {
		s = strings.ReplaceAll(s, secret, "REDACTED")
	}
	return s
}

func (o *Options) hideErr(err error) error {
	if s := err.Error(); o.hide(s) != s {
		return errors.New(o.hide(s))
	}
	return err
}

// contentType returns the media type of an answer.
func (a *Answer) contentType() string {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	return kind
}
