package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"syscall"
)

// port reports whether the addresses are free, and which process has the main one.
func (d *doctor) port(ctx context.Context, r *report) {
	l, err := Listen("parley serve --listen", d.listen)
	switch {
	case err == nil:
		_ = l.Close() // nothing was accepted
		r.ok("%s is free", d.listen)
		m, err := listenForMetrics(d.telemetry.metrics)
		if err != nil {
			r.fail(err, "")
		} else if m != nil {
			_ = m.Close() // nothing was accepted
		}
	case !errors.Is(err, syscall.EADDRINUSE):
		r.fail(err, "")
	case isParley(ctx, LocalURL(d.at, false)), isParley(ctx, LocalURL(d.at, true)):
		d.running = true
		r.warn("nothing, if that is the server that you ask about; for another one: --listen 127.0.0.1:0 takes a free port", "%s is taken by a parley serve that runs", d.listen)
	default:
		r.problem("ss -ltnp (or lsof -i) names the program: stop it, or choose another port with --listen", "%s is taken by another program", d.listen)
	}
}

// isParley reports whether a parley answers at a URL. Its certificate is not checked,
// because nothing secret is sent.
func isParley(ctx context.Context, url string) bool {
	t := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	for _, path := range []string{"/livez", "/healthz"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		if err != nil {
			return false
		}
		resp, err := t.RoundTrip(req)
		if err != nil {
			return false
		}
		text, err := io.ReadAll(io.LimitReader(resp.Body, 64))
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || string(text) != "ok\n" {
			return false
		}
	}
	return true
}
