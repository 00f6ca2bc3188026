package acts

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store"
)

// tokens are bearer tokens and their owners. The tests of callers must find their faults.
type tokens struct {
	of        map[string]string
	mute      bool // no challenge
	everybody bool // every token is a good one
}

func (t *tokens) Scheme() (string, *a2a.SecurityScheme) {
	return "token", &a2a.SecurityScheme{HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
}

func (t *tokens) Challenge() string {
	if t.mute {
		return ""
	}
	return "Bearer"
}

func (t *tokens) Authenticate(r *http.Request) (*a2a.Caller, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch subject := t.of[token]; {
	case !ok:
		return nil, nil
	case subject != "":
		return &a2a.Caller{Subject: "token:" + subject}, nil
	case t.everybody:
		return &a2a.Caller{Subject: "token:somebody"}, nil
	}
	return nil, errors.Join(auth.ErrCredentials)
}

// serveAuth runs the conformance agent behind a guard.
func serveAuth(t *testing.T, o *auth.GuardOptions, methods ...auth.Method) string {
	t.Helper()
	guard, err := auth.NewGuard(methods, o)
	if err != nil {
		t.Fatal(err)
	}
	card := agent.ConformanceCard()
	card.Capabilities.ExtendedAgentCard = new(true)
	return serveAgent(t, card, &parley.Options{Auth: guard, ExtendedCard: &card})
}

// A server that asks for credentials has no failure with good ones, over any binding in
// any version, and every test of callers applies to it.
func TestCallers(t *testing.T) {
	vault := auth.NewKeys(store.NewMemory(), nil)
	key := func(subject string) string {
		secret, _, err := vault.Create(t.Context(), auth.KeySpec{Subject: subject})
		if err != nil {
			t.Fatal(err)
		}
		return string(secret)
	}
	bearers := &tokens{of: map[string]string{"token-of-alice": "alice", "token-of-bob": "bob"}}
	for name, c := range map[string]struct {
		url        string
		one, other Credentials
	}{
		"key":    {serveAuth(t, nil, vault), Credentials{APIKey: key("alice")}, Credentials{APIKey: key("bob")}},
		"bearer": {serveAuth(t, nil, bearers), Credentials{Bearer: "token-of-alice"}, Credentials{Bearer: "token-of-bob"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, &Options{URL: c.url, Corpus: builtin(t), Credentials: c.one, Other: c.other, Only: []string{"auth", "send", "card", "get"}, Skip: []string{"SEND-011"}, Parallel: 8})
			if len(r.Interfaces) != 8 {
				t.Errorf("%d interfaces are judged, want 8", len(r.Interfaces))
			}
			for _, x := range r.Results {
				switch {
				case x.Outcome == Fail:
					t.Errorf("%s fails: %s", x.Key(), x.Failure.Message)
				case x.Suite == "auth" && x.Outcome != Pass:
					t.Errorf("%s: %s: %s", x.Key(), x.Outcome, x.Reason)
				}
			}
		})
	}
}

// A server that asks for credentials is not judged by its refusals if there are none to
// give: no test fails, and the report says what is missing.
func TestCredentialsAreMissing(t *testing.T) {
	url := serveAuth(t, nil, &tokens{of: map[string]string{"token-of-alice": "alice"}})
	r := run(t, &Options{URL: url, Corpus: builtin(t), Skip: []string{"SEND-011"}, Parallel: 8})
	passed := map[string]bool{}
	for _, x := range r.Results {
		if x.Outcome == Fail {
			t.Errorf("%s fails: %s", x.Key(), x.Failure.Message)
		}
		passed[x.ID] = passed[x.ID] || x.Outcome == Pass
	}
	for _, id := range []string{"AUTH-001", "AUTH-002", "AUTH-003", "AUTH-004", "CARD-001", "CARD-022"} {
		if !passed[id] {
			t.Errorf("%s did not pass", id)
		}
	}
	if v := r.Verdict(); v != "not judged in full: "+AsksForCredentials {
		t.Error(v)
	}
}

// A server's faults in authentication are found over every binding.
func TestCallersDefects(t *testing.T) {
	of := map[string]string{"token-of-alice": "alice", "token-of-bob": "bob"}
	for name, c := range map[string]struct {
		method *tokens
		o      auth.GuardOptions
		find   map[string]string // by binding; "" is for the others
	}{
		"nobody-needs-credentials":   {&tokens{of: of}, auth.GuardOptions{Anonymous: true}, map[string]string{GRPC: "AUTH-001 AUTH-004", "": "AUTH-001 AUTH-003 AUTH-004"}},
		"every-token-is-good":        {&tokens{of: of, everybody: true}, auth.GuardOptions{}, map[string]string{"": "AUTH-002"}},
		"two-callers-are-one":        {&tokens{of: map[string]string{"token-of-alice": "us", "token-of-bob": "us"}}, auth.GuardOptions{}, map[string]string{"": "AUTH-005 AUTH-006"}},
		"the-refusal-has-no-scheme":  {&tokens{of: of, mute: true}, auth.GuardOptions{}, map[string]string{GRPC: "", "": "AUTH-003"}},
		"good-credentials-are-wrong": {&tokens{of: map[string]string{"token-of-bob": "bob"}}, auth.GuardOptions{}, map[string]string{"": "AUTH-007"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, &Options{
				URL: serveAuth(t, &c.o, c.method), Corpus: builtin(t), Only: []string{"auth"}, Versions: []string{"1.0"}, Parallel: 8,
				Credentials: Credentials{Bearer: "token-of-alice"}, Other: Credentials{Bearer: "token-of-bob"},
			})
			found := map[string][]string{}
			for _, x := range r.Failed() {
				found[x.Binding] = append(found[x.Binding], x.ID)
			}
			for _, binding := range []string{JSONRPC, REST, GRPC} {
				want, ok := c.find[binding]
				if !ok {
					want = c.find[""]
				}
				slices.Sort(found[binding])
				if got := strings.Join(found[binding], " "); got != want {
					t.Errorf("%s: found by %q, want %q", binding, got, want)
				}
			}
			for _, x := range r.Failed() {
				t.Logf("%s: %s", x.Key(), x.Failure.Message)
				for _, e := range x.Failure.Exchanges {
					if shown := strings.Join(append(e.Request, e.Response...), "\n"); strings.Contains(shown, "token-of-") {
						t.Errorf("the report shows a token: %s", shown)
					}
				}
			}
		})
	}
}
