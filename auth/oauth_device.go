package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// DeviceCode is what the user needs for the other device (RFC 8628 §3.2).
type DeviceCode struct {
	URL      string // to open
	Code     string // to enter there
	Complete string // includes the code; "" if the server has no such address
	Expires  time.Time

	secret   string
	interval time.Duration
}

const (
	defaultInterval = 5 * time.Second
	maxInterval     = time.Minute
	maxDevice       = 30 * time.Minute
)

// Device signs in with a browser on any device: show tells the user where to go.
func (l *OAuth) Device(ctx context.Context, show func(DeviceCode)) (*OAuthSession, error) {
	s := l.session(GrantDevice)
	form := url.Values{}
	if scope := l.askedScopes(); scope != "" {
		form.Set("scope", scope)
	}
	if s.Resource != "" {
		form.Set("resource", s.Resource)
	}
	begun := time.Now()
	status, media, body, err := post(ctx, l.client, &s, l.server.DeviceURL, form)
	if err != nil {
		return nil, err
	}
	code, err := l.parseDevice(status, media, body, begun)
	if err != nil {
		return nil, err
	}
	show(*code)
	ctx, cancel := context.WithDeadlineCause(ctx, code.Expires, &OAuthError{Host: l.Host(), Status: http.StatusOK, Code: "expired_token"})
	defer cancel()
	for wait := code.interval; ; {
		if err := wake.Pause(ctx, wait); err != nil {
			return nil, err
		}
		got, id, err := s.token(ctx, l.client, url.Values{"grant_type": {deviceGrant}, "device_code": {code.secret}})
		var e *OAuthError
		var u unusable
		switch {
		case err == nil:
			return got, l.verify(ctx, got, id, "")
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &u):
			return nil, err // the code is used up
		case !errors.As(err, &e):
			wait = min(2*wait, maxInterval) // a connection that failed (RFC 8628 §3.5)
		case e.Code == "slow_down":
			wait = min(wait+defaultInterval, maxInterval)
		case e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests:
			wait = min(2*wait, maxInterval) // a server that is down or overloaded has refused nothing
		case e.Code != "authorization_pending":
			return nil, err
		}
	}
}

// parseDevice reads a device authorization response.
func (l *OAuth) parseDevice(status int, media string, body []byte, begun time.Time) (*DeviceCode, error) {
	var a struct {
		Secret   string      `json:"device_code"`
		Code     string      `json:"user_code"`
		URL      string      `json:"verification_uri"`
		Complete string      `json:"verification_uri_complete"`
		Expires  json.Number `json:"expires_in"`
		Interval json.Number `json:"interval"`
	}
	if status != http.StatusOK {
		_, err := parseAnswer(l.Host(), status, media, body)
		return nil, err
	}
	if json.Unmarshal(body, &a) != nil || a.Secret == "" || a.Code == "" || len(a.Code) > 64 || short(a.Code) != a.Code {
		return nil, fmt.Errorf("%s answered without a code for another device", l.Host())
	}
	for _, at := range []string{a.URL, a.Complete} {
		if u, err := url.Parse(at); at != "" && (err != nil || checkSecure(u) != nil || strings.ContainsAny(at, " \t\r\n")) || at == "" && a.URL == "" {
			return nil, fmt.Errorf("%s has people sign in at %q: expected an https address", l.Host(), short(at))
		}
	}
	d := &DeviceCode{URL: a.URL, Code: a.Code, Complete: a.Complete, secret: a.Secret, interval: defaultInterval, Expires: begun.Add(maxDevice)}
	if n, err := a.Interval.Float64(); err == nil && n >= 0 {
		d.interval = time.Duration(min(max(n, 1), maxInterval.Seconds()) * float64(time.Second))
	}
	if n, err := a.Expires.Float64(); err == nil && n > 0 {
		d.Expires = begun.Add(time.Duration(min(n, maxDevice.Seconds()) * float64(time.Second)))
	}
	return d, nil
}
