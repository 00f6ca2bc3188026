package signin

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"

	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
)

// Browse opens an address that has been judged to be http or https. A browser may stay;
// it ends with ctx at the latest.
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

// Explain says what to do about a sign-in that did not succeed.
func Explain(ctx context.Context, err error) error {
	var f *failure.Error
	var refused *auth.OAuthError
	var address *a2aclient.AddressError
	switch {
	case errors.As(err, &f) || errors.As(err, &address) || context.Cause(ctx) != nil:
		return err
	case !errors.As(err, &refused):
		return failure.New(failure.CodeAuthFailed, "you are not signed in: "+strings.TrimPrefix(err.Error(), "auth: "), err).
			WithHint("the card and the issuer have to agree; --issuer URL names the one you mean, --scheme another way of the card's")
	}
	f = failure.New(failure.CodeAuthFailed, "you are not signed in: "+refused.Error(), err)
	switch refused.Code {
	case "access_denied":
		return f.WithHint("you, or a rule of the issuer, refused: sign in again if that was not meant")
	case "expired_token":
		return f.WithHint("the code was not entered in time: sign in again")
	case "invalid_client", "unauthorized_client":
		return f.WithHint("--client-id and --client-secret have to be as the issuer registered them, and with this grant allowed")
	case "invalid_scope":
		return f.WithHint("--scope asks for other scopes than the card requires")
	case "invalid_target":
		return f.WithHint("leave --resource out, or ask the operator of the agent for its value")
	}
	return f
}
