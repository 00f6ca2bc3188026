package telemetry

import (
	"context"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
)

// Inject sets the headers of a request that is made in ctx, by the names that net/http
// has them under. Where there is no trace, it leaves them alone.
func Inject(ctx context.Context, header map[string][]string) {
	parent, state := Outgoing(ctx)
	if parent == "" {
		return
	}
	header["Traceparent"] = []string{parent}
	delete(header, "Tracestate") // it would belong to another traceparent
	if state != "" {
		header["Tracestate"] = []string{state}
	}
}

// Server returns ServerAddress and ServerPort of an http or https URL.
func Server(u *url.URL) []attribute.KeyValue {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return []attribute.KeyValue{ServerAddress.String(u.Hostname())}
	}
	return []attribute.KeyValue{ServerAddress.String(u.Hostname()), ServerPort.Int(n)}
}

// URL returns URLFull without what may be a secret: user, password and query.
func URL(u *url.URL) attribute.KeyValue {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return URLFull.String(plain.String())
}
