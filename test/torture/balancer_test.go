package torture

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestBalancerFavoursNobody: requests of one connection go to all replicas in
// turn, those that are gone or out are passed over, and nothing is sent twice.
func TestBalancerFavoursNobody(t *testing.T) {
	var mu sync.Mutex
	got := map[string]int{}
	var addrs []string
	var servers []*httptest.Server
	for _, name := range []string{"a", "b", "c"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			got[name+" "+string(body)]++
			mu.Unlock()
			if r.URL.Path == "/breaks" {
				panic(http.ErrAbortHandler)
			}
			io.WriteString(w, name)
		}))
		defer s.Close()
		servers = append(servers, s)
		addrs = append(addrs, strings.TrimPrefix(s.URL, "http://"))
	}
	b, err := newBalancer(addrs, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	var conns int
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conns++
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}}
	ask := func(path, body string) (string, error) {
		res, err := client.Post("http://"+b.addr()+path, "text/plain", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		name, err := io.ReadAll(res.Body)
		return res.Status[:3] + string(name), err
	}
	counts := func(n int) map[string]int {
		t.Helper()
		seen := map[string]int{}
		for range n {
			name, err := ask("/", "x")
			if err != nil {
				t.Fatal(err)
			}
			seen[name]++
		}
		return seen
	}
	if seen := counts(9); seen["200a"] != 3 || seen["200b"] != 3 || seen["200c"] != 3 || conns != 1 {
		t.Errorf("of 9 requests by %d connections the replicas got %v", conns, seen)
	}
	servers[0].Close()
	if seen := counts(9); seen["200a"] != 0 || seen["200b"]+seen["200c"] != 9 {
		t.Errorf("with one gone the others got %v", seen)
	}
	b.out[1].Store(true)
	if seen := counts(9); seen["200c"] != 9 {
		t.Errorf("with one gone and one out the third got %v", seen)
	}
	if _, err := ask("/breaks", "once"); err == nil {
		t.Error("a request whose replica breaks off has an answer")
	}
	b.out[2].Store(true)
	if seen := counts(1); seen["503"] != 1 {
		t.Errorf("without replicas the answer is %v", seen)
	}
	mu.Lock()
	defer mu.Unlock()
	if got["a once"]+got["b once"]+got["c once"] != 1 {
		t.Errorf("a request whose replica broke off was sent again: %v", got)
	}
}
