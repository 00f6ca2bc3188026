package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// maxAnswer limits how many bytes of an answer a client reads.
const maxAnswer = 64 << 20

// Client calls the API of a server on this machine: those methods that commands need.
type Client struct {
	base  string
	host  string // of requests; "": of base
	token a2a.Secret
	http  *http.Client
}

// Dial returns a client. It does not connect yet.
func Dial(l *Local) *Client { return &Client{l.URL + Path, l.Host, l.Token, l.client()} }

// request calls a method and decodes its answer. body may be nil.
func request[A any](ctx context.Context, c *Client, method, path string, body any) (answer A, err error) {
	var doc []byte
	if body != nil {
		if doc, err = json.Marshal(body); err != nil {
			return answer, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(doc))
	if err != nil {
		return answer, fmt.Errorf("call the admin API: %w", err)
	}
	r.Host = cmp.Or(c.host, r.Host)
	r.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return answer, fmt.Errorf("call the admin API: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody))
		return answer, asError(resp.StatusCode, b)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil {
		return *new(A), fmt.Errorf("read an answer of the admin API: %w", err)
	}
	return answer, nil
}

// asError returns the error in a server's answer.
func asError(status int, body []byte) *Error {
	var p problem
	if err := json.Unmarshal(body, &p); err != nil || p.Detail == "" {
		return Errorf(status, "the server answered %d %s", status, http.StatusText(status))
	}
	return &Error{Status: status, Field: p.Field, Message: p.Detail}
}

// Readiness is API.Readiness.
func (c *Client) Readiness(ctx context.Context) (*Readiness, error) {
	return request[*Readiness](ctx, c, "GET", "/readiness", nil)
}

// Agents is API.Agents.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	return request[[]Agent](ctx, c, "GET", "/agents", nil)
}

// Nodes is API.Nodes.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	return request[[]Node](ctx, c, "GET", "/nodes", nil)
}

// Store is API.Store.
func (c *Client) Store(ctx context.Context) (*Store, error) {
	return request[*Store](ctx, c, "GET", "/store", nil)
}

// Tasks is API.Tasks.
func (c *Client) Tasks(ctx context.Context, q TaskQuery) (*Tasks, error) {
	p := url.Values{}
	for name, value := range map[string]any{
		"limit": q.Limit, "after": q.After, "agent": q.Agent, "tenant": q.Tenant, "owner": q.Owner, "context": q.Context, "state": q.State, "atWork": q.AtWork,
	} {
		if v := reflect.ValueOf(value); !v.IsZero() { // a pointer to "" is not
			p.Set(name, fmt.Sprint(reflect.Indirect(v)))
		}
	}
	if !q.Since.IsZero() {
		p.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	return request[*Tasks](ctx, c, "GET", "/tasks?"+p.Encode(), nil)
}

// Redeliver is API.Redeliver.
func (c *Client) Redeliver(ctx context.Context, r Redelivery) (*Redelivered, error) {
	return request[*Redelivered](ctx, c, "POST", "/deliveries/redeliver", r)
}

// Collect is API.Collect.
func (c *Client) Collect(ctx context.Context, r Collection) (*Collected, error) {
	return request[*Collected](ctx, c, "POST", "/collect", r)
}
