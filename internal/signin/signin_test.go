package signin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/contexts"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/signin"
)

const agentURL = "https://agent.example/a2a"

// issuer renews tokens, each refresh token once, as long as answer is nil.
type issuer struct {
	*httptest.Server
	answer  atomic.Pointer[http.HandlerFunc] // in place of a renewal
	renewed atomic.Int64
}

func newIssuer(t *testing.T) *issuer {
	i := new(issuer)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := i.answer.Load(); f != nil {
			(*f)(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if n := i.renewed.Load(); r.PostFormValue("refresh_token") != fmt.Sprintf("refresh-%d", n) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"it was used"}`)
			return
		}
		n := i.renewed.Add(1)
		fmt.Fprintf(w, `{"access_token":"access-%d","refresh_token":"refresh-%d","token_type":"Bearer","expires_in":3600}`, n, n)
	}))
	t.Cleanup(i.Close)
	return i
}

// desk is a user's machine, with a sign-in for the agent.
type desk struct {
	t      *testing.T
	dir    contexts.SignIns
	issuer *issuer
	card   *a2a.AgentCard
	log    bytes.Buffer
}

func newDesk(t *testing.T, expires time.Duration, change func(*auth.OAuthSession)) *desk {
	d := &desk{t: t, dir: contexts.SignIns(t.TempDir()), issuer: newIssuer(t)}
	d.card = &a2a.AgentCard{SecuritySchemes: map[string]*a2a.SecurityScheme{
		"sso": {OpenIDConnect: &a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: "https://id.example/.well-known/openid-configuration"}},
	}}
	s := &auth.OAuthSession{
		Grant: auth.GrantCode, Scheme: "sso", ClientID: "me", Access: "access-0", Refresh: "refresh-0", Expiry: time.Now().Add(expires),
		Anchor: "https://id.example/.well-known/openid-configuration", Origins: []string{"https://agent.example:443"}, TokenURL: d.issuer.URL + "/token",
	}
	if change != nil {
		change(s)
	}
	d.save(s)
	return d
}

func (d *desk) save(s *auth.OAuthSession) {
	d.t.Helper()
	doc, err := json.Marshal(s)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.dir.Save(&contexts.SignIn{Agent: agentURL, Session: doc}); err != nil {
		d.t.Fatal(err)
	}
}

// process is one run of the command. Its secrets and warnings are in hidden and warned.
type process struct {
	*signin.Tokens
	d      *desk
	hidden []string
	warned []error
}

func (d *desk) process() *process {
	p := &process{d: d}
	p.Tokens = &signin.Tokens{
		Dir: d.dir, Agent: agentURL, Client: d.issuer.Client(), Again: "parley auth login -a " + agentURL, Log: slog.New(slog.NewTextHandler(&d.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Hide: func(list ...string) { p.hidden = append(p.hidden, list...) },
		Warn: func(err error) { p.warned = append(p.warned, err) },
	}
	return p
}

func (p *process) token(at string) (string, error) {
	u, err := url.Parse(at)
	if err != nil {
		p.d.t.Fatal(err)
	}
	return p.Token(p.d.t.Context(), p.d.card, u)
}

func (p *process) has(want string) {
	p.d.t.Helper()
	if got, err := p.token(agentURL); err != nil || got != want {
		p.d.t.Errorf("the token is %q, %v, want %q", got, err, want)
	}
}

// ends wants the failure of a sign-in that is over, which says how to sign in again.
func (p *process) ends(why string) {
	p.d.t.Helper()
	got, err := p.token(agentURL)
	var f *failure.Error
	if got != "" || !errors.As(err, &f) || f.Code != failure.CodeAuthFailed || !strings.Contains(f.Error(), why) || !strings.Contains(f.Hint, "parley auth login -a "+agentURL) {
		p.d.t.Errorf("the token is %q, %v, not refused because of %q", got, err, why)
	}
}

func TestGoodTokenIsUsedAsItIs(t *testing.T) {
	d := newDesk(t, time.Hour, nil)
	p := d.process()
	if p.Used() {
		t.Error("a token was used before there was a request")
	}
	p.has("access-0")
	if !p.Used() || d.issuer.renewed.Load() != 0 {
		t.Errorf("used: %v, renewed: %d times", p.Used(), d.issuer.renewed.Load())
	}
	for _, secret := range []string{"access-0", "refresh-0"} {
		if !strings.Contains(strings.Join(p.hidden, " "), secret) {
			t.Errorf("%s is not hidden", secret)
		}
	}
}

func TestNobodySignedIn(t *testing.T) {
	d := newDesk(t, time.Hour, nil)
	p := d.process()
	p.Agent = "https://other.example"
	p.has("")
	unnamed := d.process()
	unnamed.Agent = ""
	unnamed.has("")
	if p.Used() || unnamed.Used() {
		t.Error("a token was used")
	}
}

// A token goes nowhere but to the agent that it is for, and its user is told once.
func TestTokenStaysWithItsAgent(t *testing.T) {
	p := newDesk(t, time.Hour, nil).process()
	for _, at := range []string{"https://evil.example/a2a", "http://agent.example/a2a", "https://agent.example:8443/a2a"} {
		if got, err := p.token(at); got != "" || err != nil {
			t.Errorf("%s gets the token %q, %v", at, got, err)
		}
	}
	if len(p.warned) != 1 || p.Used() {
		t.Errorf("warned %q, used: %v", p.warned, p.Used())
	}
	moved := newDesk(t, time.Hour, nil)
	moved.card.SecuritySchemes["sso"].OpenIDConnect.OpenIDConnectURL = "https://evil.example/.well-known/openid-configuration"
	p = moved.process()
	p.has("")
	if len(p.warned) != 1 {
		t.Errorf("warned %q when the card names another issuer", p.warned)
	}
}

// A token is renewed before it ends, and what came is kept for the next process.
func TestTokenIsRenewedAndKept(t *testing.T) {
	d := newDesk(t, 25*time.Second, nil)
	p := d.process()
	p.has("access-1")
	p.has("access-1")
	d.process().has("access-1")
	if n := d.issuer.renewed.Load(); n != 1 {
		t.Errorf("renewed %d times, want once", n)
	}
	if hidden := strings.Join(p.hidden, " "); !strings.Contains(hidden, "access-1") || !strings.Contains(hidden, "refresh-1") {
		t.Errorf("hidden are %s", hidden)
	}
}

// Processes that renew at the same time use each refresh token once: an issuer takes a
// second use for theft, and ends the sign-in.
func TestOneProcessRenews(t *testing.T) {
	d := newDesk(t, -time.Minute, nil)
	var all sync.WaitGroup
	for range 8 {
		p := d.process()
		all.Go(func() { p.has("access-1") })
	}
	all.Wait()
	if n := d.issuer.renewed.Load(); n != 1 {
		t.Errorf("renewed %d times, want once", n)
	}
}

func TestSignInThatEnded(t *testing.T) {
	refused := newDesk(t, -time.Minute, func(s *auth.OAuthSession) { s.Refresh = "refresh-of-yesterday" })
	refused.process().ends("it was used")
	newDesk(t, -time.Minute, func(s *auth.OAuthSession) { s.Refresh = "" }).process().ends("no refresh token")
	newDesk(t, 25*time.Second, func(s *auth.OAuthSession) { s.Refresh = "" }).process().has("access-0") // to its end

	d := newDesk(t, 25*time.Second, nil) // another process signs out while this one runs
	p := d.process()
	d.issuer.answer.Store(refuse(http.StatusServiceUnavailable))
	p.has("access-0")
	if err := d.dir.Remove(&contexts.SignIn{Agent: agentURL}); err != nil {
		t.Fatal(err)
	}
	p.ends("another process signed out")
}

// An issuer that is away ends nothing: the token is used while it is good, and then the
// user hears to try again later, and not to sign in.
func TestIssuerIsAway(t *testing.T) {
	d := newDesk(t, 25*time.Second, nil)
	d.issuer.answer.Store(refuse(http.StatusServiceUnavailable))
	d.process().has("access-0")
	if !strings.Contains(d.log.String(), "not been renewed yet") {
		t.Errorf("the log has %s", &d.log)
	}
	d = newDesk(t, -time.Minute, nil)
	d.issuer.answer.Store(refuse(http.StatusServiceUnavailable))
	_, err := d.process().token(agentURL)
	var f *failure.Error
	if !errors.As(err, &f) || f.Code != failure.CodeUnreachable || !strings.Contains(f.Hint, "later") {
		t.Errorf("with a token that has expired: %v", err)
	}
	d.issuer.answer.Store(nil)
	d.process().has("access-1")

	d = newDesk(t, -time.Minute, func(s *auth.OAuthSession) { s.Grant, s.Refresh = auth.GrantClient, "" })
	d.issuer.Close() // a client that signs in by itself has no refresh token to lose
	if _, err := d.process().token(agentURL); !errors.As(err, &f) || f.Code != failure.CodeUnreachable {
		t.Errorf("a client whose issuer is away: %v", err)
	}
}

// A stream that is cut goes on when the issuer, which was away with the network, is back.
func TestStreamOutlivesAnIssuerThatIsAway(t *testing.T) {
	d := newDesk(t, -time.Minute, nil)
	d.issuer.answer.Store(refuse(http.StatusServiceUnavailable))
	streams := 0
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		state := "WORKING"
		if streams++; streams > 1 {
			state = "COMPLETED"
		}
		fmt.Fprintf(w, "id: %d\ndata: {\"statusUpdate\":{\"taskId\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_%s\"}}}\n\n", streams, state)
	}))
	defer agent.Close()
	tokens, at := d.process().Tokens, a2a.WebURL(agentURL)
	asked := 0
	c, err := a2aclient.New(&a2a.AgentCard{
		Name: "a", Capabilities: a2a.AgentCapabilities{Streaming: new(true)},
		SupportedInterfaces: []*a2a.AgentInterface{{URL: agent.URL, ProtocolBinding: a2a.BindingHTTPJSON, ProtocolVersion: "1.0"}},
	}, &a2aclient.Options{
		Token: func(ctx context.Context, _ *a2a.AgentCard, _ *url.URL) (string, error) {
			if asked++; asked == 1 {
				return "access-0", nil // which was good then
			}
			token, err := tokens.Token(ctx, d.card, at)
			d.issuer.answer.Store(nil)
			return token, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var last a2a.TaskState
	for el, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		last = el.State()
	}
	if last != a2a.TaskStateCompleted || asked != 3 {
		t.Errorf("the last state is %v; %d tokens were asked for", last, asked)
	}
}

// leaving is a transport whose caller gives up when the issuer has answered.
type leaving struct {
	http.RoundTripper
	leave func()
}

func (l *leaving) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(r)
	if l.leave(); err == nil && r.Context().Err() != nil {
		res.Body.Close()
		return nil, r.Context().Err()
	}
	return res, err
}

// A request that is given up while its token is renewed does not lose the sign-in: the
// refresh token that was sent is used up by then.
func TestRenewalOutlivesItsRequest(t *testing.T) {
	d := newDesk(t, -time.Minute, nil)
	ctx, leave := context.WithCancel(t.Context())
	p := d.process()
	p.Client = &http.Client{Transport: &leaving{d.issuer.Client().Transport, leave}}
	at, err := url.Parse(agentURL)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = p.Token(ctx, d.card, at) // nobody waits for it
	d.process().has("access-1")
}

func refuse(status int) *http.HandlerFunc {
	f := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	return &f
}

// A request that ends does not wait for the renewal of another one.
func TestARequestThatEndsWaitsForNoRenewal(t *testing.T) {
	d := newDesk(t, time.Second, nil)
	asked, release := make(chan bool), make(chan bool)
	f := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-release
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	d.issuer.answer.Store(&f)
	p := d.process()
	renewed := make(chan bool, 1)
	go func() {
		_, _ = p.token(agentURL)
		renewed <- true
	}()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Token(ctx, d.card, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	select {
	case <-renewed:
		t.Error("it waited for the renewal")
	default:
	}
	close(release)
	<-renewed
}

func TestUnreadableSignIn(t *testing.T) {
	d := newDesk(t, time.Hour, nil)
	if err := d.dir.Save(&contexts.SignIn{Agent: agentURL, Session: json.RawMessage(`["no session"]`)}); err != nil {
		t.Fatal(err)
	}
	p := d.process()
	for range 2 { // the second request does not go without the token either
		if got, err := p.token(agentURL); got != "" || err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("the token is %q, %v", got, err)
		}
	}
	d.save(&auth.OAuthSession{
		Scheme: "sso", Access: "access-0", Anchor: "https://id.example/.well-known/openid-configuration", Origins: []string{"https://agent.example:443"},
	})
	p.has("access-0")
}

// For every refusal of a sign-in, the user is told what to do.
func TestExplain(t *testing.T) {
	for code, hint := range map[string]string{
		"access_denied": "sign in again", "expired_token": "in time", "invalid_client": "--client-id", "unauthorized_client": "--client-secret",
		"invalid_scope": "--scope", "invalid_target": "--resource",
	} {
		var f *failure.Error
		err := signin.Explain(t.Context(), fmt.Errorf("sign in: %w", &auth.OAuthError{Host: "id.example", Status: 400, Code: code}))
		if !errors.As(err, &f) || f.Code != failure.CodeAuthFailed || !strings.Contains(f.Hint, hint) || !strings.Contains(f.Error(), "id.example answered "+code) {
			t.Errorf("%s: %v", code, err)
		}
	}
	var f *failure.Error
	if err := signin.Explain(t.Context(), errors.New("auth: the card has no scheme")); !errors.As(err, &f) || f.Code != failure.CodeAuthFailed || !strings.Contains(f.Error(), "you are not signed in: the card has no scheme") || !strings.Contains(f.Hint, "--issuer") {
		t.Errorf("another failure: %v", err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	for _, one := range []struct {
		ctx context.Context
		err error
	}{{t.Context(), failure.Usagef("as it is")}, {t.Context(), &a2aclient.AddressError{}}, {gone, errors.New("canceled")}} {
		if err := signin.Explain(one.ctx, one.err); err != one.err {
			t.Errorf("%v became %v", one.err, err)
		}
	}
}

func TestHasBrowser(t *testing.T) {
	with := func(list ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for i := 0; i < len(list); i += 2 {
				if list[i] == name {
					return list[i+1], true
				}
			}
			return "", false
		}
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		if !signin.HasBrowser(with()) || signin.HasBrowser(with("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")) {
			t.Error("a desk has a browser, and a remote shell none")
		}
		return
	}
	for _, one := range []struct {
		list []string
		want bool
	}{{nil, false}, {[]string{"DISPLAY", ""}, false}, {[]string{"DISPLAY", ":0"}, true}, {[]string{"WAYLAND_DISPLAY", "wayland-0"}, true}} {
		if got := signin.HasBrowser(with(one.list...)); got != one.want {
			t.Errorf("with %q there is a browser: %v", one.list, got)
		}
	}
}

// A renewal that could not be kept, as on a full disk, is not lost to the process that
// made it: what the file has is used up.
func TestRenewalThatIsNotKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a directory with an open file cannot be moved away")
	}
	d := newDesk(t, -time.Minute, nil)
	away := string(d.dir) + ".away"
	short := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := d.issuer.renewed.Load()
		if r.PostFormValue("refresh_token") != fmt.Sprintf("refresh-%d", n) {
			(*refuse(http.StatusBadRequest))(w, r)
			return
		}
		if n == 0 { // nothing can be written until the answer has arrived
			if err := errors.Join(os.Rename(string(d.dir), away), os.WriteFile(string(d.dir), nil, 0o600)); err != nil {
				t.Error(err)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"access-%d","refresh_token":"refresh-%d","token_type":"Bearer","expires_in":20}`, n+1, n+1)
		d.issuer.renewed.Add(1)
	})
	d.issuer.answer.Store(&short)
	p := d.process()
	if _, err := p.token(agentURL); err == nil {
		t.Error("nobody is told that the tokens were not kept")
	}
	if err := errors.Join(os.Remove(string(d.dir)), os.Rename(away, string(d.dir))); err != nil {
		t.Fatal(err)
	}
	p.has("access-2")
	d.process().has("access-3")
}
