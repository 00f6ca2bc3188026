package torture

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// counted is what one life of the server said of its tasks at /metrics, and what the log
// has of them.
type counted struct {
	began, at time.Time // of the life, and when its metrics were read
	last      bool      // the life was at rest then: the two are equal
	said      map[string]int
	logged    map[string]int
}

// started is the name under which tasks that were created are counted; those that ended
// are under their state.
const started = "started"

// scrape reads the metrics of the present life. A life that does not answer any more has
// none.
func (w *world) scrape(ctx context.Context, last bool) error {
	if w.o.Metrics == "" || !w.server.known {
		return nil
	}
	c := &counted{began: w.server.began.Truncate(time.Millisecond), last: last, said: map[string]int{}, logged: map[string]int{}}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.o.Metrics+"/metrics", nil)
	if err != nil {
		return err
	}
	res, err := w.server.http.Do(req)
	if err != nil {
		if last {
			return fmt.Errorf("read the metrics: %w", err)
		}
		return nil // it is stopped in its tracks, or has just ended
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		name, labels, _ := strings.Cut(name, "{")
		switch name {
		case "parley_tasks_started_total":
			name = started
		case "parley_tasks_ended_total":
			_, name, _ = strings.Cut(labels, `state="`)
			name, _, _ = strings.Cut(name, `"`)
		default:
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("the metrics have the line %q", lines.Text())
		}
		c.said[name] += int(n)
	}
	if lines.Err() != nil && !last {
		return nil
	}
	c.at = time.Now()
	w.counters = append(w.counters, c)
	return lines.Err()
}

// scrapeAtRest reads the metrics once no task is at work.
func (w *world) scrapeAtRest(ctx context.Context) error {
	if w.o.Metrics == "" {
		return nil
	}
	if err := w.up(ctx); err != nil {
		return err
	}
	cl, err := a2aclient.Dial(ctx, "http://"+w.o.Addr, &a2aclient.Options{Version: "1.1", Bindings: []string{a2a.BindingJSONRPC}})
	if err != nil {
		return fmt.Errorf("wait until nothing is at work: %w", err)
	}
	if _, err := w.settled(ctx, cl); err != nil {
		return err
	}
	return w.scrape(ctx, true)
}

// counts notes what a task's log says of each life. It is called for one task at a time.
func (w *world) counts(h *history) {
	note := func(at time.Time, what string) {
		for _, c := range w.counters {
			if !at.Before(c.began) && !at.After(c.at) {
				c.logged[what]++
			}
		}
	}
	ended := func(s *a2a.TaskStatus) {
		if s.State.Terminal() {
			note(s.Timestamp, strings.ToLower(strings.TrimPrefix(s.State.String(), "TASK_STATE_")))
		}
	}
	note(h.first.Status.Timestamp, started)
	ended(&h.first.Status)
	for _, e := range h.events {
		if e.StatusUpdate != nil {
			ended(&e.StatusUpdate.Status)
		}
	}
}

// agree finds counters that say more than the log has, which they never may, and those of
// the last life that say less.
func (w *world) agree() {
	for i, c := range w.counters {
		for what := range c.names() {
			if c.said[what] > c.logged[what] || c.last && c.said[what] != c.logged[what] {
				w.violate(Counters, "life %d of %d, at rest %v: /metrics has %d tasks %s, the log %d", i+1, len(w.counters), c.last, c.said[what], what, c.logged[what])
			}
		}
	}
}

func (c *counted) names() map[string]bool {
	all := map[string]bool{}
	for what := range c.said {
		all[what] = true
	}
	for what := range c.logged {
		all[what] = true
	}
	return all
}
