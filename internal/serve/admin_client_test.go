package serve

import (
	"bytes"
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

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/wire"
)

// apiClient is the whole administration of a server, over HTTP.
type apiClient struct {
	*admin.Client
	base  string
	token a2a.Secret
}

// do makes a request and returns an answer whose status is a success.
func (c *apiClient) do(ctx context.Context, method, path string, q url.Values, media string, body []byte, cursor string) (*http.Response, error) {
	at := c.base + path
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("call the admin API: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	if body != nil {
		r.Header.Set("Content-Type", media)
	}
	if cursor != "" {
		r.Header.Set("Last-Event-ID", cursor)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call the admin API: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return nil, asError(resp.StatusCode, b)
}

// asError returns the error in a server's answer.
func asError(status int, body []byte) *admin.Error {
	var p struct{ Detail, Field string }
	if err := json.Unmarshal(body, &p); err != nil || p.Detail == "" {
		return admin.Errorf(status, "the server answered %d %s", status, http.StatusText(status))
	}
	return &admin.Error{Status: status, Field: p.Field, Message: p.Detail}
}

// get calls a method and decodes its answer.
func get[A any](ctx context.Context, c *apiClient, method, path string, q url.Values, body any) (answer A, err error) {
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
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
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

func (c *apiClient) Settings(ctx context.Context) ([]admin.Setting, error) {
	return get[[]admin.Setting](ctx, c, "GET", "/settings", nil, nil)
}

func (c *apiClient) CheckSettings(ctx context.Context, yaml []byte) ([]admin.Finding, error) {
	return get[[]admin.Finding](ctx, c, "POST", "/settings/check", nil, yaml)
}

func (c *apiClient) Task(ctx context.Context, task string) (*admin.Task, error) {
	return get[*admin.Task](ctx, c, "GET", taskPath(task, ""), nil, nil)
}

func (c *apiClient) DeleteTask(ctx context.Context, task string) error {
	_, err := get[struct{}](ctx, c, "DELETE", taskPath(task, ""), nil, nil)
	return err
}

func (c *apiClient) CancelTask(ctx context.Context, task string) (*admin.Task, error) {
	return get[*admin.Task](ctx, c, "POST", taskPath(task, "/cancel"), nil, nil)
}

func (c *apiClient) TaskAt(ctx context.Context, task string, seq int64) (*a2a.Task, error) {
	return get[*a2a.Task](ctx, c, "GET", taskPath(task, "/state"), query("at", seq), nil)
}

func (c *apiClient) Runs(ctx context.Context, task string) ([]admin.Run, error) {
	return get[[]admin.Run](ctx, c, "GET", taskPath(task, "/runs"), nil, nil)
}

func (c *apiClient) Log(ctx context.Context, task string, after int64, limit int) (*admin.Log, error) {
	return get[*admin.Log](ctx, c, "GET", taskPath(task, "/log"), query("after", after, "limit", limit), nil)
}

func (c *apiClient) FollowLog(ctx context.Context, task string, after int64) iter.Seq2[admin.LogEntry, error] {
	return func(yield func(admin.LogEntry, error) bool) {
		c.follow(ctx, taskPath(task, "/log"), query("follow", true), strconv.FormatInt(after, 10), func(ev wire.Event, err error) bool {
			var en admin.LogEntry
			if err == nil {
				err = json.Unmarshal(ev.Data, &en)
			}
			return yield(en, err) && err == nil
		})
	}
}

func (c *apiClient) Deliveries(ctx context.Context, q admin.DeliveryQuery) (*admin.Deliveries, error) {
	return get[*admin.Deliveries](ctx, c, "GET", "/deliveries", query("limit", q.Limit, "after", q.After, "task", q.Task, "config", q.ID, "failing", q.Failing), nil)
}

func (c *apiClient) DeadLetters(ctx context.Context, q admin.DeliveryQuery) (*admin.DeadLetters, error) {
	return get[*admin.DeadLetters](ctx, c, "GET", "/dead-letters", query("limit", q.Limit, "after", q.After, "task", q.Task, "config", q.ID), nil)
}

func (c *apiClient) Keys(ctx context.Context) ([]admin.Key, error) {
	return get[[]admin.Key](ctx, c, "GET", "/keys", nil, nil)
}

func (c *apiClient) CreateKey(ctx context.Context, k admin.NewKey) (*admin.Key, error) {
	return get[*admin.Key](ctx, c, "POST", "/keys", nil, k)
}

func (c *apiClient) RevokeKey(ctx context.Context, id string) (*admin.Key, error) {
	return get[*admin.Key](ctx, c, "DELETE", "/keys/"+url.PathEscape(id), nil, nil)
}

func (c *apiClient) Audit(ctx context.Context, q admin.AuditQuery) (*admin.AuditRecords, error) {
	return get[*admin.AuditRecords](ctx, c, "GET", "/audit", query("limit", q.Limit, "after", q.After, "event", q.Event, "task", q.Task), nil)
}

func (c *apiClient) Events(ctx context.Context, after string) iter.Seq2[admin.Event, error] {
	return func(yield func(admin.Event, error) bool) {
		c.follow(ctx, "/events", nil, after, func(sse wire.Event, err error) bool {
			var ev admin.Event
			if err == nil {
				err = json.Unmarshal(sse.Data, &ev)
				ev.ID = sse.ID
			}
			return yield(ev, err) && err == nil
		})
	}
}

// follow reads a stream until it ends, which is no error, or each returns false.
func (c *apiClient) follow(ctx context.Context, path string, q url.Values, cursor string, each func(wire.Event, error) bool) {
	resp, err := c.do(ctx, "GET", path, q, "", nil, cursor)
	if err != nil {
		each(wire.Event{}, err)
		return
	}
	defer resp.Body.Close()
	events := wire.NewReader(resp.Body, 64<<20)
	for {
		switch ev, err := events.Next(); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			each(ev, fmt.Errorf("read a stream of the admin API: %w", err))
			return
		case ev.Name == "error":
			var p struct{ Status int }
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
