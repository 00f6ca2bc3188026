package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/parley-a2a/parley/a2a"
)

// issuerClient returns a client that asks nobody but the issuer: by https or on this
// machine, following only redirects that stay on a host, and reading no more than a set
// of keys may have. Time is bounded by the context. It has the transport of c, or the
// default one.
func issuerClient(c *http.Client) *http.Client {
	return &http.Client{CheckRedirect: checkRedirect, Transport: &issuerTransport{cmp.Or(direct(c).Transport, http.DefaultTransport)}}
}

// direct returns a client with the transport of c, or the default one, that follows no
// redirects, because what it sends is for one address.
func direct(c *http.Client) *http.Client {
	own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c != nil {
		own.Transport = c.Transport
	}
	return own
}

// fetch returns the document at an address, up to the size that c allows.
func fetch(ctx context.Context, c *http.Client, at, accept string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	doc, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	return doc, nil
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	switch first := via[0].URL; {
	case req.URL.Host != first.Host || req.URL.Scheme != first.Scheme:
		return errors.New("the issuer redirects to another host, which is not followed")
	case len(via) > 3:
		return errors.New("the issuer redirects too often")
	}
	return nil
}

// checkSecure returns an error unless an address is reached by https, or is on this
// machine.
func checkSecure(u *url.URL) error {
	if u.Hostname() != "" && (u.Scheme == "https" || u.Scheme == "http" && a2a.IsLoopback(u.Hostname())) {
		return nil
	}
	return errors.New("issuers and keys are reached by https, or on this machine")
}

// issuerTransport returns documents that are not too large. All other answers become
// errors without the server's text, which a library would otherwise put into its own
// error.
type issuerTransport struct{ base http.RoundTripper }

func (t *issuerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkSecure(req.URL); err != nil {
		return nil, err
	}
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if res.Header.Get("Location") != "" {
			return res, nil
		}
		fallthrough
	default:
		_ = res.Body.Close()
		return nil, fmt.Errorf("HTTP %d", res.StatusCode)
	}
	res.Body = &boundedBody{ReadCloser: res.Body, left: maxKeys}
	return res, nil
}

// boundedBody returns an error after so many bytes, and not an end: half of a document
// must not be taken for the whole.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the document is larger than %d bytes", maxKeys)
	}
	return n, err
}
