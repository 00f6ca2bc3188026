package console_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const viewers = 50

// TestBar measures what docs/console.md tells, on a machine with nothing else to do:
// BAR=1 go test -count=1 -v -run TestBar .
func TestBar(t *testing.T) {
	if os.Getenv("BAR") == "" {
		t.Skip("a measurement: BAR=1 runs it")
	}
	s := &server{t: t, dir: t.TempDir(), addr: freeAddress(t)} // no browser: it would be measured, too
	s.start()
	t.Cleanup(func() { s.end(os.Kill) })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Client{Jar: jar}
	page := func(path string) ([]byte, time.Duration) {
		t.Helper()
		begin := time.Now()
		res, err := web.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return b, time.Since(begin)
	}
	page(s.link)

	var first []time.Duration
	size := 0
	for range 50 {
		b, took := page(s.at("/chat/-"))
		first, size = append(first, took), len(b)
	}
	b, _ := page(s.at("/chat/-"))
	for _, file := range regexp.MustCompile(`(?:href|src)="(/console/static/[^"]+)"`).FindAllSubmatch(b, -1) {
		f, _ := page("http://" + s.addr + string(file[1]))
		size += len(f)
	}
	t.Logf("first page: median %v, at most %v, %d bytes with style, scripts and icon, not compressed", share50(first), slices.Max(first), size)

	for _, n := range []int{10_000, 99_990} {
		id := s.send("/", fmt.Sprintf("stream %d 0", n))
		s.cli("task", "get", id, "--wait", "--history", "0")
		for _, view := range []string{"", "?view=timeline"} {
			var took []time.Duration
			for range 5 {
				_, d := page(s.at("/tasks/-/" + id + view))
				took = append(took, d)
			}
			t.Logf("%d events%s: median %v", n, view, share50(took))
		}
	}

	// Callers beside a task that goes on, without viewers and with them, in turns: what
	// the disk does in one second is not what it does in another.
	calls := func() []time.Duration {
		var all []time.Duration
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
			begin := time.Now()
			s.send("/", "echo hello")
			all = append(all, time.Since(begin))
		}
		return all
	}
	p99 := func(d []time.Duration) time.Duration {
		d = slices.Clone(d)
		slices.Sort(d)
		return d[len(d)*99/100]
	}
	var quiet, watched, late []time.Duration
	var more []float64 // how much higher the p99 of each turn was, in percent
	for turn := range 40 {
		id := s.send("/", "stream 110 50")
		var alone, beside []time.Duration
		if turn%2 == 0 {
			alone = calls()
		}
		begin := time.Now().Add(time.Second / 2) // viewers come, and are told what was before
		seen := watch(t, s.at("/live?task=-/"+id+"@0"), jar)
		beside = calls()
		arrived := seen() // of a position, at each viewer
		if alone == nil {
			alone = calls()
		}
		quiet, watched = append(quiet, alone...), append(watched, beside...)
		more = append(more, 100*(float64(p99(beside))/float64(p99(alone))-1))
		for after := 0; ; after += 200 {
			b, _ := page(s.at(fmt.Sprintf("/tasks/-/%s?view=log&after=%d", id, after)))
			found := regexp.MustCompile(`at=(\d+)">\d+</a> (\d\d:\d\d:\d\d\.\d\d\d)`).FindAllSubmatch(b, -1)
			for _, m := range found {
				n, _ := strconv.Atoi(string(m[1]))
				at, err := time.Parse("2006-01-02 15:04:05.000", time.Now().UTC().Format("2006-01-02 ")+string(m[2]))
				if err != nil {
					t.Fatal(err)
				}
				for _, when := range arrived[n] {
					if at.After(begin) {
						late = append(late, when.Sub(at))
					}
				}
			}
			if len(found) == 0 {
				break
			}
		}
	}
	if len(late) == 0 {
		t.Fatal("no viewer saw anything")
	}
	slices.Sort(more)
	t.Logf("live updates at %d viewers: median %v after the event, p99 %v, of %d", viewers, share50(late), p99(late), len(late))
	t.Logf("calls: p99 %v without viewers (%d calls), %v with %d (%d calls), %+.0f %%; of each turn %+.0f %% at the median, from %+.0f to %+.0f", p99(quiet), len(quiet), p99(watched), viewers, len(watched),
		100*(float64(p99(watched))/float64(p99(quiet))-1), more[len(more)/2], more[0], more[len(more)-1])
	t.Logf("calls: median %v without viewers, %v with", share50(quiet), share50(watched))
}

// watch starts viewers in a process of their own, which runs only when nothing else wants
// the processor: viewers are on other machines, and take nothing from this one. (At nice
// 19 they still kept the server waiting for a time slice now and then.) Calls
// that wait for viewers that this process reads for would measure this process. The
// function that it returns ends them, and tells when each position came, which may be
// with a later one.
func watch(t *testing.T, at string, jar http.CookieJar) func() map[int][]time.Time {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	cookie := ""
	for _, c := range jar.Cookies(u) {
		cookie = c.Name + "=" + c.Value
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("chrt", "--idle", "0", self, "-viewers", at, cookie)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() map[int][]time.Time {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		arrived := map[int][]time.Time{}
		for line := range strings.Lines(out.String()) {
			var position int
			var at int64
			if _, err := fmt.Sscan(line, &position, &at); err != nil {
				t.Fatal(err)
			}
			arrived[position] = append(arrived[position], time.Unix(0, at))
		}
		return arrived
	}
}

// view is the process that watch starts: it reads until its input ends, and prints a line
// with its time for each position that came.
func view(at, cookie string) {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: viewers}}
	var work sync.WaitGroup
	var mu sync.Mutex // protects lines
	var lines strings.Builder
	for range viewers {
		work.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
			if err != nil {
				return
			}
			req.Header.Set("Cookie", cookie)
			res, err := web.Do(req)
			if err != nil {
				return
			}
			defer res.Body.Close()
			var own strings.Builder
			come := 0
			in := bufio.NewScanner(res.Body)
			in.Buffer(nil, 1<<20)
			for in.Scan() {
				if id, ok := strings.CutPrefix(in.Text(), "id: "); ok {
					now := time.Now().UnixNano()
					for n, _ := strconv.Atoi(id); come < n; {
						come++
						fmt.Fprintln(&own, come, now)
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			lines.WriteString(own.String())
		})
	}
	work.Wait()
	fmt.Print(lines.String())
}

func share50(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}
