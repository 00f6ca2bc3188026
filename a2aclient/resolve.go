package a2aclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// maxCard bounds a card document, in bytes.
const maxCard = 1 << 20

// Resolver finds agent cards and caches them as long as HTTP allows: a fresh card is
// not fetched again, a stale one is revalidated (specification §8.6.2). It holds at
// most 64 cards, in memory. It may be used by many goroutines at once; the cards it
// returns belong to the caller.
type Resolver struct {
	opts  *Options
	http  *http.Client
	cache cache
	now   func() time.Time

	mu    sync.Mutex                // protects the field below
	found map[string]*a2a.AgentCard // of agents without a card, by address; see Dial
}

// NewResolver returns a Resolver with an empty cache.
func NewResolver(o *Options) *Resolver {
	o = cmp.Or(o, new(Options))
	return &Resolver{opts: o, http: o.httpClient(), now: time.Now}
}

// Resolve finds the card that ref refers to, without caching it; see Resolver.Resolve.
func Resolve(ctx context.Context, ref string, o *Options) (*a2a.AgentCard, error) {
	r := NewResolver(o)
	if r.opts.HTTPClient == nil {
		defer r.http.CloseIdleConnections()
	}
	return r.Resolve(ctx, ref)
}

// Resolve finds the card that ref refers to. A reference is
//
//   - a host with an optional port and path, such as example.org or
//     localhost:7275. This machine is called with plain HTTP and all
//     other hosts with HTTPS, without falling back;
//   - an http or https URL. The card is then at the well-known path below it, or at
//     the root of its host unless that card says that its agent is elsewhere on that
//     host, under the name agent-card.json or, as before version 0.3,
//     agent.json;
//   - the URL of the card itself: its path ends in .json or contains
//     /.well-known/;
//   - a file: a file:// URL, a path that begins with /, ./ or ../, or
//     one whose first part is no host name, such as cards/greeter.json.
//
// Credentials are sent only if the host asks for them with status 401. A card may have
// the form of any version: what older versions have in other places is found in
// SupportedInterfaces and SecuritySchemes. The error is a *CardError, or the context's.
func (r *Resolver) Resolve(ctx context.Context, ref string) (*a2a.AgentCard, error) {
	card, _, err := r.find(ctx, ref)
	return card, err
}

// find is Resolve, and also returns the card's source.
func (r *Resolver) find(ctx context.Context, ref string) (*a2a.AgentCard, *source, error) {
	card, from, err := r.resolve(ctx, ref)
	if err == nil {
		return card, from, nil
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	e, ok := errors.AsType[*CardError](err)
	if !ok {
		e = &CardError{Kind: CardInvalid, Err: err}
	}
	e.Ref = printable(ref)
	return nil, nil, e
}

func (r *Resolver) resolve(ctx context.Context, ref string) (*a2a.AgentCard, *source, error) {
	where, err := parseRef(ref)
	if err != nil {
		return nil, nil, &CardError{Kind: CardNotFound, Err: err}
	}
	if where.file != "" && r.opts.From != nil {
		return nil, nil, &CardError{Kind: CardRefused, Err: errors.New("a document from another host names a file of this machine")}
	}
	if where.file != "" {
		body, err := readCard(where.file)
		if err != nil {
			return nil, nil, err
		}
		card, err := r.opts.checkedCard(ctx, body)
		return card, nil, err
	}
	if err := r.opts.checkCredentials(); err != nil {
		return nil, nil, err
	}
	var best *CardError // the most informative of several failures
	for i, u := range where.urls {
		doc, err := r.fetch(ctx, u)
		if e, ok := errors.AsType[*CardError](err); ok {
			if e.Kind == CardUnreachable && where.guessed {
				e.Err = fmt.Errorf("%w (HTTPS was assumed; if it speaks plain HTTP, write http://%s)", e.Err, u.Host)
			}
			// Many sites show a page for any path, in place of a card.
			page := errors.Is(err, errNotJSON) && i < len(where.urls)-1
			if e.Kind != CardNotFound && !page {
				return nil, nil, e
			}
			if best == nil || best.Kind == CardNotFound && page {
				best = e
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		card, err := r.opts.checkedCard(ctx, doc.body)
		if err != nil || where.isFor(u, card) {
			return card, doc.from, err
		}
		if at := card.SupportedInterfaces[0].URL; best == nil || best.Kind == CardNotFound {
			best = &CardError{Kind: CardNotFound, Err: fmt.Errorf("there is no card below %s, and the one of its host is for another address, %s: use that if it is the agent you mean",
				location(where.base), printable(at))}
		}
	}
	return nil, nil, best
}

// fetch returns the JSON document at u.
func (r *Resolver) fetch(ctx context.Context, u *url.URL) (*cached, error) {
	key := u.String()
	old := r.cache.get(key)
	if old != nil && r.now().Before(old.fresh) {
		return old, nil
	}
	if d := r.opts.unaryTimeout(); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, timeout(d))
		defer cancel()
	}
	res, body, from, err := r.get(ctx, u, old, false)
	if err == nil && res.StatusCode == http.StatusUnauthorized && (r.opts.Bearer != "" || r.opts.APIKey != "" || r.opts.hasUser()) {
		res, body, from, err = r.get(ctx, u, old, true)
	}
	switch {
	case err != nil:
		if _, ok := errors.AsType[*errRedirect](err); ok {
			return nil, &CardError{Kind: CardNotFound, Err: err}
		}
		if _, ok := errors.AsType[*AddressError](err); ok {
			return nil, &CardError{Kind: CardRefused, Err: err}
		}
		return nil, err
	case res.StatusCode == http.StatusNotModified && old != nil:
		return r.cache.put(key, res.Header, nil, from, old, r.now()), nil
	case res.StatusCode == http.StatusOK:
		if !json.Valid(body) {
			return nil, &CardError{Kind: CardInvalid, Err: fmt.Errorf("%s is %w but %s", location(u), errNotJSON, kindOfBody(res.Header, body))}
		}
		return r.cache.put(key, res.Header, body, from, nil, r.now()), nil
	}
	said := dialect.ErrorFromHTTP(res.StatusCode, res.Header.Get("Content-Type"), body)
	switch s := res.StatusCode; {
	case s == http.StatusBadRequest && u.Scheme == "http" && wantsTLS(body):
		return nil, &CardError{Kind: CardUnreachable, Err: &TransportError{Host: u.Host, Unreachable: true, Err: errWantsTLS}}
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return nil, &CardError{Kind: CardForbidden, Err: said}
	case s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s >= 500 && s != http.StatusNotImplemented:
		return nil, &CardError{Kind: CardUnreachable, Err: withRetryAfter(said, res)}
	}
	return nil, &CardError{Kind: CardNotFound, Err: fmt.Errorf("there is no card at %s (HTTP %d)", location(u), res.StatusCode)}
}

var errWantsTLS = errors.New("its port takes https, not http")

// wantsTLS reports whether a page says that an HTTP request came to a TLS port, in the
// words of this program, Go's server, nginx or Apache.
func wantsTLS(page []byte) bool {
	for _, text := range []string{"takes https only", "HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port", "plain HTTP to an SSL-enabled server port"} {
		if bytes.Contains(page, []byte(text)) {
			return true
		}
	}
	return false
}

func (r *Resolver) get(ctx context.Context, u *url.URL, old *cached, authenticate bool) (*http.Response, []byte, *source, error) {
	watch := new(dialing)
	leaving, j := r.opts.leave(ctx, r.opts.From.orNil())
	req, err := http.NewRequestWithContext(watch.watch(leaving), http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, nil, &CardError{Kind: CardNotFound, Err: errors.New("not a valid URL")}
	}
	req.Header.Set("Accept", "application/json, application/a2a+json")
	r.opts.setHeader(req.Header, r.opts.cardVersion())
	if old != nil {
		if old.etag != "" {
			req.Header.Set("If-None-Match", old.etag)
		}
		if old.since != "" {
			req.Header.Set("If-Modified-Since", old.since)
		}
	}
	if authenticate {
		creds, _ := credentialsFor(nil, r.opts)
		req = creds.addTo(req)
	}
	start := time.Now()
	res, err := r.http.Do(req)
	logRequest(ctx, r.opts.logger(), "card", req, res, start, err)
	if err != nil {
		return nil, nil, nil, r.unreachable(ctx, watch, u.Host, err)
	}
	defer res.Body.Close()
	body, err := readAll(res.Body, maxCard)
	if errors.Is(err, errTooLarge) {
		return nil, nil, nil, &CardError{Kind: CardInvalid, Err: fmt.Errorf("%s is larger than %d bytes", location(u), maxCard)}
	}
	if err != nil {
		return nil, nil, nil, r.unreachable(ctx, watch, u.Host, err)
	}
	return res, body, j.from.Load(), nil
}

func (r *Resolver) unreachable(ctx context.Context, watch *dialing, host string, err error) error {
	return &CardError{Kind: CardUnreachable, Err: watch.transportError(host, orCause(ctx, err))}
}

var errNotJSON = errors.New("not JSON")

func readCard(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return nil, &CardError{Kind: CardNotFound, Err: fmt.Errorf("cannot read the file: %w", err)}
	}
	defer f.Close()
	body, err := readAll(f, maxCard)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, &CardError{Kind: CardInvalid, Err: fmt.Errorf("the file is larger than %d bytes", maxCard)}
	case err != nil:
		return nil, &CardError{Kind: CardNotFound, Err: fmt.Errorf("cannot read the file: %w", err)}
	}
	return body, nil
}

// checkedCard parses a card's document, after Options.CheckCard has accepted it.
func (o *Options) checkedCard(ctx context.Context, doc []byte) (*a2a.AgentCard, error) {
	if o.CheckCard != nil {
		var err error
		if doc, err = o.CheckCard(ctx, doc); err != nil {
			return nil, &CardError{Kind: CardRefused, Err: err}
		}
	}
	return parseCard(doc)
}

// checkedExtendedCard is checkedCard for an extended card.
func (o *Options) checkedExtendedCard(ctx context.Context, doc []byte) (*a2a.AgentCard, error) {
	card, err := o.checkedCard(ctx, doc)
	if e, ok := errors.AsType[*CardError](err); ok && e.Kind == CardInvalid {
		return nil, &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: "the agent's extended card cannot be read", Cause: err}
	}
	return card, err
}

// parseCard reads a card of any version.
func parseCard(doc []byte) (*a2a.AgentCard, error) {
	card, err := dialect.ParseCard(doc)
	if err != nil {
		return nil, &CardError{Kind: CardInvalid, Err: err}
	}
	if card.Name == "" && len(card.SupportedInterfaces) == 0 {
		return nil, &CardError{Kind: CardInvalid, Err: errors.New("it has neither a name nor interfaces: this is not an agent card")}
	}
	return card, nil
}

// location returns a URL in the form for errors.
func location(u *url.URL) string {
	short := *u
	short.RawQuery, short.ForceQuery, short.Fragment, short.RawFragment = "", false, "", ""
	return short.Redacted()
}

// printable returns a reference in the form for errors: without password and query.
func printable(ref string) string {
	whole := ref
	if !strings.Contains(ref, "://") && !looksLikeFile(ref) {
		whole = "//" + ref // a host
	}
	if u, err := url.Parse(whole); err == nil && u.Host != "" {
		ref = strings.TrimPrefix(location(u), "//")
	} else if at, query := strings.LastIndexByte(ref, '@'), strings.IndexAny(ref, "?#"); !looksLikeFile(ref) {
		switch {
		case query < 0:
			ref = ref[at+1:]
		case at < query:
			ref = ref[at+1 : query]
		default: // the @ is in a query, or the query is part of a password
			ref = "…"
		}
	}
	if len(ref) > 200 {
		ref = ref[:200] + "…"
	}
	return ref
}
