package webhook_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/webhook"
)

func countNew(f func()) func(net.Conn, http.ConnState) {
	return func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			f()
		}
	}
}

// secretly returns a notification full of secrets, none of which may be in the reason
// of an outcome.
func secretly(t testing.TB, url string) *a2a.Notification {
	n := noticeOf(t, "1.0", strings.TrimSuffix(url, "/")+"/s3cret?key=s3cret")
	n.Config.Token = "s3cret-token"
	n.Config.Authentication = &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: "s3cret"}
	return n
}

func notifySecretly(t testing.TB, ctx context.Context, w *webhook.Sender, url string) a2a.Outcome {
	t.Helper()
	out := w.Notify(ctx, secretly(t, url))
	if host := strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://"); strings.Contains(out.Reason, "s3cret") || strings.Contains(out.Reason, host) || strings.Contains(out.Reason, "127.0.0.1") {
		t.Errorf("the reason says too much: %q", out.Reason)
	}
	if (out.Reason == "") != (out.Verdict == a2a.Delivered) {
		t.Errorf("verdict %d because of %q", out.Verdict, out.Reason)
	}
	return out
}

func TestWebhookVerdicts(t *testing.T) {
	again, giveUp := a2a.DeliverAgain, a2a.GiveUp
	for _, c := range []struct {
		status  int
		want    a2a.Verdict
		down    bool
		delayed bool // Retry-After counts
	}{
		{200, a2a.Delivered, false, false}, {201, a2a.Delivered, false, false}, {202, a2a.Delivered, false, false}, {204, a2a.Delivered, false, false}, {299, a2a.Delivered, false, false},
		{300, giveUp, false, false}, {301, giveUp, false, false}, {302, giveUp, false, false}, {303, giveUp, false, false}, {304, giveUp, false, false},
		{307, giveUp, false, false}, {308, giveUp, false, false}, // without Location
		{400, giveUp, false, false}, {401, giveUp, false, false}, {403, giveUp, false, false}, {404, giveUp, false, false}, {405, giveUp, false, false},
		{408, again, false, true}, {409, giveUp, false, false}, {410, a2a.DisableConfig, false, false}, {413, giveUp, false, false}, {422, giveUp, false, false},
		{425, again, false, true}, {429, again, false, true}, {499, giveUp, false, false},
		{500, again, true, true}, {501, again, true, true}, {502, again, true, true}, {503, again, true, true}, {504, again, true, true}, {599, again, true, true},
		{600, again, true, true}, {999, again, true, true},
	} {
		in := newInbox(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(c.status)
			if c.status != 204 && c.status != 304 {
				_, _ = io.WriteString(w, "s3cret")
			}
		})
		out := notifySecretly(t, t.Context(), localHooks(hookKeys()), in.URL)
		var after time.Duration
		if c.delayed {
			after = 2 * time.Minute
		}
		if out.Verdict != c.want || out.Down != c.down || out.After != after {
			t.Errorf("%d: %+v", c.status, out)
		}
		if c.want != a2a.Delivered && !strings.Contains(out.Reason, strconv.Itoa(c.status)) {
			t.Errorf("%d: because of %q", c.status, out.Reason)
		}
		if len(in.got()) != 1 {
			t.Errorf("%d: %d posts", c.status, len(in.got()))
		}
	}
}

// Broken and unwelcome answers.
func TestWebhookFailures(t *testing.T) {
	raw := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = buf.WriteString(answer)
			_ = buf.Flush()
			_ = c.Close()
		}
	}
	reset := func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   a2a.Outcome
	}{
		"reset":                {reset, a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the receiver closed the connection"}},
		"no answer":            {raw(""), a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the receiver closed the connection"}},
		"half a header":        {raw("HTTP/1.1 200 OK\r\nContent-"), a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the connection failed"}},
		"no HTTP":              {raw("220 smtp.example ESMTP s3cret\r\n"), a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the connection failed"}},
		"half a body":          {raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), a2a.Outcome{}},
		"half a failure":       {raw("HTTP/1.1 410 Gone\r\nContent-Length: 10\r\n\r\nhalf"), a2a.Outcome{Verdict: a2a.DisableConfig, Reason: "the receiver answered 410"}},
		"early hints":          {raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"), a2a.Outcome{}},
		"hints and no end":     {raw(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 10_000)), a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the connection failed"}},
		"another protocol":     {raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), a2a.Outcome{Verdict: a2a.GiveUp, Reason: "the receiver answered 101"}},
		"a header without end": {raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-S3cret: s3cret\r\n", 10_000) + "\r\n"), a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the connection failed"}},
		"a huge body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000")
			_, _ = w.Write(make([]byte, 1<<20))
		}, a2a.Outcome{}},
		"a body without end": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, a2a.Outcome{}},
		"a huge failure": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = w.Write(make([]byte, 1<<20))
		}, a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the receiver answered 500"}},
		"a body that never comes": {func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, a2a.Outcome{}},
		"a bad place": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://[s3cret")
			w.WriteHeader(307)
		}, a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the connection failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInbox(t, c.answer)
			w := localHooks(hookKeys())
			w.SetLinger(50 * time.Millisecond)
			if out := notifySecretly(t, t.Context(), w, in.URL); out != c.want {
				t.Errorf("%+v, want %+v", out, c.want)
			}
		})
	}
}

func TestWebhookTimesOut(t *testing.T) {
	in := newInbox(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	out := notifySecretly(t, ctx, localHooks(nil), in.URL)
	if want := (a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the receiver did not answer in time"}); out != want {
		t.Errorf("%+v", out)
	}
}

// resolver answers each name in a way of its own.
type resolver struct{}

func (resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	switch host {
	case "inside.example.":
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	case "slow.example.":
		return nil, &net.DNSError{Err: "i/o timeout on s3cret", Name: host, IsTimeout: true}
	case "public.example.", "late.example.":
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
	}
	return nil, &net.DNSError{Err: "no such host as s3cret", Name: host, IsNotFound: true}
}

// timedOut is the error of a dialer whose own time is up.
type timedOut struct{}

func (timedOut) Error() string   { return "dial tcp: i/o timeout" }
func (timedOut) Timeout() bool   { return true }
func (timedOut) Temporary() bool { return true }

func TestWebhookHostsThatAreNone(t *testing.T) {
	plain := newInbox(t, nil)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	again := func(reason string) a2a.Outcome {
		return a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: reason}
	}
	w := webhook.NewSender(&egress.Policy{Loopback: true, Resolver: resolver{}, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "93.") {
			return nil, &net.OpError{Op: "dial", Net: network, Err: timedOut{}}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}, "Parley", "")
	for url, want := range map[string]a2a.Outcome{
		gone.URL:                  again("the connection was refused"),
		secure.URL:                again("the host's certificate is not trusted"),
		"https" + plain.URL[4:]:   again("the host does not speak TLS as we do"),
		"https://nowhere.example": again("the host was not found"),
		"https://slow.example":    again("the host could not be looked up"),
		"https://late.example":    again("the receiver did not answer in time"),
		"https://inside.example":  {Verdict: a2a.GiveUp, Reason: "the URL has a host that does not lead to a public address"},
		"http://public.example":   {Verdict: a2a.GiveUp, Reason: "the URL must begin with https://"},
		"https://10.0.0.1":        {Verdict: a2a.GiveUp, Reason: "the URL leads to a private address"},
	} {
		if out := notifySecretly(t, t.Context(), w, url); out != want {
			t.Errorf("%s: %+v, want %+v", url, out, want)
		}
	}
	if out := w.Notify(t.Context(), noticeOf(t, "1.0", "http://%zz/s3cret")); out.Verdict != a2a.GiveUp || strings.Contains(out.Reason, "s3cret") {
		t.Errorf("%+v", out)
	}
}

func TestWebhookRedirects(t *testing.T) {
	end := newInbox(t, nil)
	to := func(status int, url string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", url)
			w.WriteHeader(status)
		}
	}
	t.Run("on the same host all goes along", func(t *testing.T) {
		in := newInbox(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/end" {
				to(308, "/end")(w, r)
			}
		})
		if out := notifySecretly(t, t.Context(), localHooks(hookKeys()), in.URL); out != (a2a.Outcome{}) {
			t.Fatalf("%+v", out)
		}
		posts := in.got()
		if len(posts) != 2 || string(posts[0].body) != string(posts[1].body) || posts[1].method != http.MethodPost {
			t.Fatalf("%d posts", len(posts))
		}
		for _, name := range []string{"Authorization", "X-A2a-Notification-Token", "Webhook-Signature", "Webhook-Id"} {
			if posts[1].header.Get(name) == "" || posts[1].header.Get(name) != posts[0].header.Get(name) {
				t.Errorf("%s: %q", name, posts[1].header.Get(name))
			}
		}
		if posts[1].header.Get("Referer") != "" {
			t.Error("the URL goes along as Referer")
		}
	})
	t.Run("to another host only the content", func(t *testing.T) {
		in := newInbox(t, to(307, end.URL))
		if out := notifySecretly(t, t.Context(), localHooks(hookKeys()), in.URL); out != (a2a.Outcome{}) {
			t.Fatalf("%+v", out)
		}
		p := end.got()[0]
		if string(p.body) != string(in.got()[0].body) || p.header.Get("Content-Type") != "application/a2a+json" {
			t.Errorf("%s %v", p.body, p.header)
		}
		for name := range p.header {
			if strings.HasPrefix(name, "Webhook-") || strings.Contains(name, "Token") || name == "Authorization" || name == "Referer" {
				t.Errorf("%s went along", name)
			}
		}
	})
	for name, c := range map[string]struct {
		status      int
		url, reason string
	}{
		"into the network":   {307, "https://10.0.0.1/s3cret", "the URL leads to a private address"},
		"to metadata":        {308, "http://169.254.169.254/s3cret", "the URL leads to a link-local address"},
		"to another scheme":  {307, "file:///etc/s3cret", "the URL must begin with https://, or with http:// for a receiver on this machine"},
		"as a GET":           {302, "/s3cret", "the receiver answered 302, a redirect that is not followed"},
		"in circles":         {307, "/s3cret", "the URL redirects more than 3 times"},
		"with a password":    {307, "http://u:s3cret@127.0.0.1/", "the URL must not have a user or a password in it"},
		"permanently as GET": {301, "/s3cret", "the receiver answered 301, a redirect that is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInbox(t, to(c.status, c.url))
			out := notifySecretly(t, t.Context(), localHooks(nil), in.URL)
			if want := (a2a.Outcome{Verdict: a2a.GiveUp, Reason: c.reason}); out != want {
				t.Errorf("%+v, want %+v", out, want)
			}
		})
	}
}
