package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wire"
)

// maxAnswer limits how many bytes of an answer, or of an event, a client reads.
const maxAnswer = 64 << 20

// Dial returns the API of a server on this machine. It does not connect yet. Streams do not
// reconnect by themselves.
func Dial(l *Local) API { return &client{l.URL + Path, l.Host, l.Token, l.client()} }

type client struct {
	base  string
	host  string // of requests; "": of base
	token a2a.Secret
	http  *http.Client
}

// do makes a request and returns an answer whose status is a success.
func (c *client) do(ctx context.Context, method, path string, q url.Values, media string, body []byte, cursor string) (*http.Response, error) {
	at := c.base + path
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("call the admin API: %w", err)
	}
	r.Host = cmp.Or(c.host, r.Host)
	r.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	if body != nil {
		r.Header.Set("Content-Type", media)
	}
	if cursor != "" {
		r.Header.Set("Last-Event-ID", cursor)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call the admin API: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	return nil, asError(resp.StatusCode, b)
}

// asError returns the error in a server's answer.
func asError(status int, body []byte) *Error {
	var p problem
	if err := json.Unmarshal(body, &p); err != nil || p.Detail == "" {
		return Errorf(status, "the server answered %d %s", status, http.StatusText(status))
	}
	return &Error{Status: status, Field: p.Field, Message: p.Detail}
}

// get calls a method and decodes its answer.
func get[A any](ctx context.Context, c *client, method, path string, q url.Values, body any) (answer A, err error) {
	var b []byte
	media := "application/json"
	switch body := body.(type) {
	case nil:
	case []byte:
		b, media = append([]byte{}, body...), "application/yaml"
	default:
		if b, err = json.Marshal(body); err != nil {
			return answer, err
		}
	}
	resp, err := c.do(ctx, method, path, q, media, b, "")
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return answer, nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil {
		return *new(A), fmt.Errorf("read an answer of the admin API: %w", err)
	}
	return answer, nil
}

// query returns parameters for pairs of names and values. It omits zero values, including
// nil, but not a pointer to a zero value.
func query(pairs ...any) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if v := reflect.ValueOf(pairs[i+1]); !v.IsZero() {
			q.Set(pairs[i].(string), fmt.Sprint(reflect.Indirect(v)))
		}
	}
	return q
}

func taskPath(task string, rest string) string { return "/tasks/" + url.PathEscape(task) + rest }

func (c *client) Readiness(ctx context.Context) (*Readiness, error) {
	return get[*Readiness](ctx, c, "GET", "/readiness", nil, nil)
}

func (c *client) Agents(ctx context.Context) ([]Agent, error) {
	return get[[]Agent](ctx, c, "GET", "/agents", nil, nil)
}

func (c *client) Nodes(ctx context.Context) ([]Node, error) {
	return get[[]Node](ctx, c, "GET", "/nodes", nil, nil)
}

func (c *client) Store(ctx context.Context) (*Store, error) {
	return get[*Store](ctx, c, "GET", "/store", nil, nil)
}

func (c *client) Settings(ctx context.Context) ([]Setting, error) {
	return get[[]Setting](ctx, c, "GET", "/settings", nil, nil)
}

func (c *client) CheckSettings(ctx context.Context, yaml []byte) ([]Finding, error) {
	return get[[]Finding](ctx, c, "POST", "/settings/check", nil, yaml)
}

func (c *client) Tasks(ctx context.Context, q TaskQuery) (*Tasks, error) {
	p := query("limit", q.Limit, "after", q.After, "agent", q.Agent, "tenant", q.Tenant, "owner", q.Owner, "context", q.Context, "state", q.State, "atWork", q.AtWork)
	if !q.Since.IsZero() {
		p.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	return get[*Tasks](ctx, c, "GET", "/tasks", p, nil)
}

func (c *client) Task(ctx context.Context, task string) (*Task, error) {
	return get[*Task](ctx, c, "GET", taskPath(task, ""), nil, nil)
}

func (c *client) DeleteTask(ctx context.Context, task string) error {
	_, err := get[struct{}](ctx, c, "DELETE", taskPath(task, ""), nil, nil)
	return err
}

func (c *client) CancelTask(ctx context.Context, task string) (*Task, error) {
	return get[*Task](ctx, c, "POST", taskPath(task, "/cancel"), nil, nil)
}

func (c *client) TaskAt(ctx context.Context, task string, seq int64) (*a2a.Task, error) {
	return get[*a2a.Task](ctx, c, "GET", taskPath(task, "/state"), query("at", seq), nil)
}

func (c *client) Runs(ctx context.Context, task string) ([]Run, error) {
	return get[[]Run](ctx, c, "GET", taskPath(task, "/runs"), nil, nil)
}

func (c *client) Log(ctx context.Context, task string, after int64, limit int) (*Log, error) {
	return get[*Log](ctx, c, "GET", taskPath(task, "/log"), query("after", after, "limit", limit), nil)
}

func (c *client) FollowLog(ctx context.Context, task string, after int64) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		c.follow(ctx, taskPath(task, "/log"), query("follow", true), strconv.FormatInt(after, 10), func(ev wire.Event, err error) bool {
			var en LogEntry
			if err == nil {
				err = json.Unmarshal(ev.Data, &en)
			}
			return yield(en, err) && err == nil
		})
	}
}

func (c *client) Deliveries(ctx context.Context, q DeliveryQuery) (*Deliveries, error) {
	return get[*Deliveries](ctx, c, "GET", "/deliveries", query("limit", q.Limit, "after", q.After, "task", q.Task, "config", q.ID, "failing", q.Failing), nil)
}

func (c *client) DeadLetters(ctx context.Context, q DeliveryQuery) (*DeadLetters, error) {
	return get[*DeadLetters](ctx, c, "GET", "/dead-letters", query("limit", q.Limit, "after", q.After, "task", q.Task, "config", q.ID), nil)
}

func (c *client) Redeliver(ctx context.Context, r Redelivery) (*Redelivered, error) {
	return get[*Redelivered](ctx, c, "POST", "/deliveries/redeliver", nil, r)
}

func (c *client) Collect(ctx context.Context, r Collection) (*Collected, error) {
	return get[*Collected](ctx, c, "POST", "/collect", nil, r)
}

func (c *client) Keys(ctx context.Context) ([]Key, error) {
	return get[[]Key](ctx, c, "GET", "/keys", nil, nil)
}

func (c *client) CreateKey(ctx context.Context, k NewKey) (*Key, error) {
	return get[*Key](ctx, c, "POST", "/keys", nil, k)
}

func (c *client) RevokeKey(ctx context.Context, id string) (*Key, error) {
	return get[*Key](ctx, c, "DELETE", "/keys/"+url.PathEscape(id), nil, nil)
}

func (c *client) Audit(ctx context.Context, q AuditQuery) (*AuditRecords, error) {
	return get[*AuditRecords](ctx, c, "GET", "/audit", query("limit", q.Limit, "after", q.After, "event", q.Event, "task", q.Task), nil)
}

func (c *client) Events(ctx context.Context, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c.follow(ctx, "/events", nil, after, func(sse wire.Event, err error) bool {
			var ev Event
			if err == nil {
				err = json.Unmarshal(sse.Data, &ev)
				ev.ID = sse.ID
			}
			return yield(ev, err) && err == nil
		})
	}
}

// follow reads a stream until it ends, which is no error, or each returns false.
func (c *client) follow(ctx context.Context, path string, q url.Values, cursor string, each func(wire.Event, error) bool) {
	resp, err := c.do(ctx, "GET", path, q, "", nil, cursor)
	if err != nil {
		each(wire.Event{}, err)
		return
	}
	defer resp.Body.Close()
	events := wire.NewReader(resp.Body, maxAnswer)
	for {
		switch ev, err := events.Next(); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			each(ev, fmt.Errorf("read a stream of the admin API: %w", err))
			return
		case ev.Name == "error":
			var p problem
			_ = json.Unmarshal(ev.Data, &p)
			each(ev, asError(p.Status, ev.Data))
			return
		default:
			if !each(ev, nil) {
				return
			}
		}
	}
}
