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
