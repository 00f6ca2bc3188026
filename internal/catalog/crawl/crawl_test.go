package crawl

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2aclient"
)

// hosts is a server whose documents are by path; URL in one is its own address.
func hosts(t *testing.T, docs map[string]string) (base string, asked func() map[string]int) {
	var mu sync.Mutex
	count := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		count[r.URL.Path]++
		mu.Unlock()
		doc, ok := docs[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Header.Get("Authorization") != "" && !strings.HasPrefix(r.URL.Path, "/.well-known/") {
			t.Errorf("credentials went to %s", r.URL.Path)
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(doc, "URL", "http://"+r.Host))
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() map[string]int { mu.Lock(); defer mu.Unlock(); return count }
}

func entry(name, kind, rest string) string {
	return fmt.Sprintf(`{"identifier":"urn:air:127.0.0.1:agent:%s","displayName":%q,"type":"application/%s+json",%s}`, name, name, kind, rest)
}

const card = `{"name":"NAME","description":"d","version":"1","capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
	"skills":[{"id":"s","name":"s","description":"d","tags":["t"]}],"supportedInterfaces":[{"url":"URL","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`

func options() *Options {
	return &Options{Own: &a2aclient.Options{Bearer: "s3cret"}, Others: &a2aclient.Options{}, Now: time.Now}
}

func TestReadFollowsCatalogsOnce(t *testing.T) {
	base, asked := hosts(t, map[string]string{
		"/.well-known/ai-catalog.json": `{"specVersion":"1.0","entries":[` + strings.Join([]string{
			entry("good", "a2a-agent-card", `"url":"URL/good.json"`),
			entry("gone", "a2a-agent-card", `"url":"URL/gone.json"`),
			entry("other", "a2a-agent-card", `"url":"URL/renamed.json"`),
			entry("inline", "a2a-agent-card", `"data":{}`),
			entry("list", "ai-catalog", `"url":"URL/list.json"`),
			entry("bundle", "ai-catalog", `"data":{"entries":[`+entry("bundled", "a2a-agent-card", `"url":"URL/bundled.json"`)+`]}`),
			`{"identifier":"urn:air:acme.com:agent:squatted","displayName":"squatted","type":"application/a2a-agent-card+json","url":"URL/squatted.json"}`,
			entry("tool", "mcp-server-card", `"url":"URL/tool.json"`),
		}, ",") + `]}`,
		"/list.json":     `{"entries":[` + entry("loop", "ai-catalog", `"url":"URL/list.json"`) + `,` + entry("good", "a2a-agent-card", `"url":"URL/evil.json"`) + `]}`,
		"/good.json":     strings.Replace(card, "NAME", "good", 1),
		"/bundled.json":  strings.Replace(card, "NAME", "bundled", 1),
		"/squatted.json": strings.Replace(card, "NAME", "squatted", 1),
		"/renamed.json":  strings.Replace(card, "NAME", "another", 1),
	})
	c, err := Read(t.Context(), base, options())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, a := range c.Agents {
		got[a.Name()] = strings.Join(a.Findings, "; ")
	}
	for name, want := range map[string]string{"good": "", "bundled": "", "gone": "there is no card", "other": `calls it "other", its card "another"`, "squatted": "claims acme.com"} {
		if has, ok := got[name]; !ok || want == "" && has != "" || !strings.Contains(has, want) {
			t.Errorf("%s: %q", name, has)
		}
	}
	all := fmt.Sprint(c.Findings)
	if len(c.Agents) != 5 || !strings.Contains(all, "another catalog has the identifier") || !strings.Contains(all, "in the catalog itself") {
		t.Errorf("%d agents: %s", len(c.Agents), all)
	}
	if n := asked(); n["/list.json"] != 1 || n["/evil.json"] != 0 || n["/tool.json"] != 0 {
		t.Errorf("asked: %v", n)
	}
}

func TestReadIsBounded(t *testing.T) {
	docs := map[string]string{}
	var first []string
	for i := range MaxDocuments + 5 {
		first = append(first, entry(fmt.Sprint("c", i), "ai-catalog", fmt.Sprintf(`"url":"URL/c%d.json"`, i)))
		docs[fmt.Sprintf("/c%d.json", i)] = `{"entries":[]}`
	}
	deep := `{"entries":[]}`
	for range maxDepth + 2 {
		deep = `{"entries":[` + entry("deep", "ai-catalog", `"data":`+deep) + `]}`
	}
	first = append(first, entry("d", "ai-catalog", `"data":`+deep))
	for i := range MaxAgents + 3 {
		first = append(first, entry(fmt.Sprint("a", i), "a2a-agent-card", `"url":"URL/same.json"`))
	}
	docs["/.well-known/ard.json"] = `{"entries":[` + strings.Join(first, ",") + `]}`
	base, asked := hosts(t, docs)
	c, err := Read(t.Context(), base, options())
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint(c.Findings)
	for _, want := range []string{"20 documents of a catalog are", "read 3 deep", "200 agents of a catalog are kept"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := len(asked()); len(c.Agents) != MaxAgents || n != MaxDocuments+1 { // the cards are one path
		t.Errorf("%d agents, %d paths", len(c.Agents), n)
	}
}

func TestReadSaysWhatIsNoCatalog(t *testing.T) {
	base, _ := hosts(t, map[string]string{"/page.json": `{"name":"a card"}`, "/big.json": `{"entries":["` + strings.Repeat("x", 1<<20) + `"]}`})
	for at, want := range map[string]string{
		base: "there is no document at", base + "/page.json": "not a catalog", base + "/big.json": "larger than", "ftp://x": "nor an http or https URL", "http://127.0.0.1:1/x.json": "127.0.0.1:1",
	} {
		if _, err := Read(t.Context(), at, options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", at, err)
		}
	}
}
