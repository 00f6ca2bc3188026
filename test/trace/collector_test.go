package trace

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is one that the collector got.
type span struct {
	*tracepb.Span
	service string
	attrs   map[string]string
}

func (s *span) id() string     { return hex.EncodeToString(s.SpanId) }
func (s *span) parent() string { return hex.EncodeToString(s.ParentSpanId) }
func (s *span) trace() string  { return hex.EncodeToString(s.TraceId) }

// took is how long it lasted.
func (s *span) took() time.Duration { return time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano) }

// collector takes spans over OTLP/HTTP and keeps them.
type collector struct {
	*httptest.Server

	mu    sync.Mutex // protects the fields below
	spans []*span
	more  chan struct{} // closed when there are more
}

func newCollector(t *testing.T) *collector {
	c := &collector{more: make(chan struct{})}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/metrics" {
			return // which go to the same endpoint
		}
		in := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if in, err = gzip.NewReader(r.Body); err != nil {
				t.Error(err)
			}
		}
		body, err := io.ReadAll(in)
		req := new(collectorpb.ExportTraceServiceRequest)
		if err == nil {
			err = proto.Unmarshal(body, req)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		c.take(req)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(req *collectorpb.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range req.ResourceSpans {
		service := ""
		for _, kv := range of.Resource.GetAttributes() {
			if kv.Key == "service.name" {
				service = kv.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, &span{s, service, texts(s.Attributes)})
			}
		}
	}
	close(c.more)
	c.more = make(chan struct{})
}

// all returns what came, and what is closed when more has come.
func (c *collector) all() ([]*span, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans[:len(c.spans):len(c.spans)], c.more
}

// wait returns when there is a span that fits.
func (c *collector) wait(t *testing.T, what string, fits func(*span) bool) {
	t.Helper()
	for {
		spans, more := c.all()
		for _, s := range spans {
			if fits(s) {
				return
			}
		}
		select {
		case <-more:
		case <-t.Context().Done():
			t.Fatalf("no span %s came", what)
		}
	}
}
