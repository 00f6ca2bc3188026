package serve

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/auth"
)

// Guesses at credentials beside the agents are recorded and counted, as at an agent.
func TestGuessingBesideTheAgentsIsRecorded(t *testing.T) {
	h, err := Open(t.Context(), testEnv(t, t.Output()), lineOf(t, "--listen=127.0.0.1:0", "--data=d", "--auth-keys", "--metrics-listen=main"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	good, _, err := h.admin.keys.Create(t.Context(), auth.KeySpec{Name: "x", Roles: []string{"metrics"}})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path, key string) string {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.RemoteAddr = "192.0.2.7:5000"
		r.Header.Set("X-API-Key", key)
		w := &answer{header: http.Header{}}
		h.beside[strings.TrimSuffix(path, "/readiness")].ServeHTTP(w, r)
		return string(w.body)
	}
	get("/admin/v1/readiness", "parley_wrong")
	get("/metrics", "parley_wrong")
	if got := get("/metrics", good.Reveal()); !strings.Contains(got, `parley_auth_failures_total{reason="invalid"} 2`) {
		t.Errorf("they are not counted:\n%s", got)
	}
	log, err := os.ReadFile("d/" + AuditName)
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range []string{"admin", "metrics"} {
		if want := `"event":"call","outcome":"UnauthenticatedError","denied":true,"binding":"` + binding + `","remote":"192.0.2.7","reason":"`; !strings.Contains(string(log), want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
}
