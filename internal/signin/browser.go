package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
)

// Browse opens an address that was checked to be http or https. The browser may stay open; it
// ends at the latest with ctx.
func Browse(ctx context.Context, address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with the browser
	return nil
}

// HasBrowser reports whether there is a screen for a browser.
func HasBrowser(lookup func(string) (string, bool)) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		_, remote := lookup("SSH_CONNECTION")
		return !remote
	}
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY"} {
		if v, _ := lookup(name); v != "" {
			return true
		}
	}
	return false
}

// Pasted reads the address at which a browser on another machine ended, and requests it on this
// machine, as a local browser would have done: the listener checks it like every request. asked
// is the address at which the browser began. It reads until ctx or the input ends.
func Pasted(ctx context.Context, asked string, line func(ctx context.Context, prompt string) (string, error), note func(string)) {
	u, err := url.Parse(asked)
	if err != nil {
		return
	}
	back := u.Query().Get("redirect_uri") + "?"
	here := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy
	for {
		text, err := line(ctx, "")
		if err != nil {
			return
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if !strings.HasPrefix(text, back) {
			note("the address has to begin with " + back)
			continue
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, text, nil)
		if err == nil {
			var res *http.Response
			if res, err = here.Do(req); err == nil {
				_ = res.Body.Close() // the sign-in reports the same as the page
			}
		}
		if err != nil {
			note("that did not work: " + err.Error())
		}
	}
}

// Name returns the name under which a sign-in at an agent is stored: its address, in one
// spelling. An address without a scheme means https, or http on this machine.
func Name(agent string) string {
	agent = strings.TrimRight(agent, "/")
	if !strings.Contains(agent, "://") {
		if _, err := os.Stat(agent); err == nil {
			if abs, err := filepath.Abs(agent); err == nil {
				return abs
			}
		}
		scheme := "https://"
		if u, err := url.Parse("http://" + agent); err == nil && a2a.IsLoopback(u.Hostname()) {
			scheme = "http://"
		}
		agent = scheme + agent
	}
	if u, err := url.Parse(agent); err == nil && u.Host != "" {
		u.Host, u.User = strings.ToLower(u.Host), nil
		return u.String()
	}
	return agent
}

// Explain says what to do about a sign-in that failed.
func Explain(ctx context.Context, err error) error {
	_, known := errors.AsType[*failure.Error](err)
	_, address := errors.AsType[*a2aclient.AddressError](err)
	refused, ok := errors.AsType[*auth.OAuthError](err)
	switch {
	case known || address || context.Cause(ctx) != nil:
		return err
	case !ok:
		return failure.New(failure.CodeAuthFailed, "you are not signed in: "+strings.TrimPrefix(err.Error(), "auth: "), err).
			WithHint("the card and the issuer have to agree; --issuer URL names the one you mean, --scheme another way of the card's")
	}
	f := failure.New(failure.CodeAuthFailed, "you are not signed in: "+refused.Error(), err)
	f.Hint = hints[refused.Code]
	return f
}

// hints say what to do about a refusal of an authorization server, by its code.
var hints = map[string]string{
	"access_denied":       "you, or a rule of the issuer, refused: sign in again if that was not meant",
	"expired_token":       "the code was not entered in time: sign in again",
	"invalid_client":      registered,
	"unauthorized_client": registered,
	"invalid_scope":       "--scope asks for other scopes than the card requires",
	"invalid_target":      "leave --resource out, or ask the operator of the agent for its value",
}

const registered = "--client-id and --client-secret have to be as the issuer registered them, and with this grant allowed"
