package acts

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// strange runs an agent over JSON-RPC whose card asks for an API key in a header of its own.
func strange(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("GET "+card, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"name":"strange","supportedInterfaces":[{"url":"`+s.URL+`","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true},
			"securitySchemes":{"key":{"apiKeySecurityScheme":{"location":"header","name":"Strange-Key"}}},"securityRequirements":[{"schemes":{"key":{}}}]}`)
	})
	mux.HandleFunc("POST /", answer)
	return s.URL
}

const strangeKey = "strange&key-that-nobody-may-read-in-a-report"

// An agent may repeat the credentials that it got, wherever it likes: no report has them,
// nor the half of them where a long text is cut.
func TestReportsHaveNoCredentials(t *testing.T) {
	url := strange(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		key := r.Header.Get("Strange-Key")
		switch {
		case strings.Contains(string(text), "Stream"):
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"jsonrpc":"2.0","id":1,"result":{"task":"`+key+"\"}}\n\n")
		case strings.Contains(string(text), "ListTasks"): // it is cut within the key
			w.Header().Set("Content-Type", "application/json")
			begin := `{"jsonrpc":"2.0","id":1,"result":"`
			io.WriteString(w, begin+strings.Repeat("x", maxShownBody-20-len(begin))+key+`"}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"not for `+key+`","data":"`+key+`"}}`)
		}
	})
	r := run(t, &Options{URL: url, Corpus: builtin(t), Credentials: Credentials{APIKey: strangeKey}, Only: []string{"SEND-*", "LIST-*", "STREAM-*", "DATA-*", "RPC-*"}})
	for _, format := range []string{"text", "json", "html", "junit", "acts"} {
		var out strings.Builder
		if err := r.Write(&out, format); err != nil {
			t.Fatal(err)
		}
		if at := strings.Index(out.String(), "key-that-no"); at >= 0 {
			t.Errorf("%s: …%s…", format, out.String()[max(0, at-200):min(at+60, out.Len())])
		}
	}
	if strings.Contains(string(r.WriteBaseline()), "key-that-no") {
		t.Error("the baseline has them")
	}
}

// An agent refuses wrong credentials as its gateway does, with 401 and a document of its
// own. Requests by hand bring the credentials where the card wants them, too.
func TestCredentialsInAHeaderOfTheCard(t *testing.T) {
	url := strange(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Strange-Key") != strangeKey {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"title":"Unauthorized","status":401}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":"17","error":{"code":-32001,"message":"there is no such task"}}`)
	})
	for _, key := range []string{strangeKey, ""} {
		r := run(t, &Options{URL: url, Corpus: builtin(t), Credentials: Credentials{APIKey: key}, Only: []string{"AUTH-001", "AUTH-007", "RPC-019"}})
		for _, x := range r.Results {
			if x.Outcome == Fail || key != "" && x.Outcome != Pass {
				t.Errorf("with the key %q: %s %s: %s %v", key, x.ID, x.Outcome, x.Reason, x.Failure)
			}
		}
	}
}

// A long token takes one look at each place where a text was cut: with a copy of the text
// for each of its beginnings, a report took minutes.
func TestLongTokensAreHiddenFast(t *testing.T) {
	c := Credentials{Bearer: strings.Repeat("eyJhbGciOiJIUzI1NiIs", 80)}
	list := c.secrets()
	text := strings.Repeat("x", maxShownBody-100) + c.Bearer
	if got := list.hide("… " + cut(text, maxShownBody)); strings.Contains(got, "eyJ") || !strings.HasSuffix(got, "xREDACTED…") {
		t.Errorf("the cut token is %s", got[maxShownBody-120:])
	}
	if n := testing.AllocsPerRun(1, func() { list.hide(cut(text, maxShownBody)) }); n > 100 {
		t.Errorf("%.0f allocations", n)
	}
}
