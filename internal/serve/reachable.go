package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/keyfile"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/wake"
)

// addressFindings checks the address on the cards without a request. open says that
// users of other machines can call.
func addressFindings(public string, open bool) []string {
	if public == "" {
		return nil
	}
	u, err := url.Parse(public)
	if err != nil {
		return nil // it was refused before
	}
	switch local := isLocalHost(u.Hostname()); {
	case local && open:
		return []string{fmt.Sprintf("--public-url %s leads callers to their own machines, and others can call this server", plain.Quote(public))}
	case !local && u.Scheme == "http" && !isPrivateHost(u.Hostname()):
		return []string{fmt.Sprintf("--public-url %s has no encryption: clients may refuse to send credentials there", plain.Quote(public))}
	}
	return nil
}

// How often and how long the address on the cards is tried: a proxy in front of the
// server may notice the start a little later.
const (
	reachTries = 4
	reachPause = 5 * time.Second
	reachTime  = 10 * time.Second
)

// reach fetches the card from the address that it names, as callers do. It returns why
// there is no card, or that it is another agent's; nil if ctx ended first.
func reach(ctx context.Context, c *http.Client, public, name string) error {
	var err error
	for try := range reachTries {
		if try > 0 && wake.Pause(ctx, reachPause) != nil {
			return nil
		}
		if err = reachOnce(ctx, c, public, name); err == nil || ctx.Err() != nil {
			return nil
		}
	}
	return err
}

func reachOnce(ctx context.Context, c *http.Client, public, name string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, public+"/.well-known/agent-card.json", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("A2A-Version", dialect.Versions[0])
	resp, err := c.Do(req)
	if err != nil {
		return errors.New(reachReason(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %d", resp.StatusCode)
	}
	doc, err := io.ReadAll(io.LimitReader(resp.Body, keyfile.MaxCard+1))
	if err != nil || len(doc) > keyfile.MaxCard {
		return errors.New("its answer cannot be read")
	}
	var card a2a.AgentCard
	if err := card.UnmarshalJSON(doc); err != nil {
		return errors.New("its answer is not an agent card")
	}
	if card.Name != name {
		return fmt.Errorf("another agent answers there: %s", plain.Quote(card.Name))
	}
	return nil
}

// reachReason returns the text of a request's error without the URL, which the caller
// prints.
func reachReason(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) {
		return "it does not answer in time"
	}
	return err.Error()
}

// isLocalHost reports whether a host name means the user's own machine.
func isLocalHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// isPrivateHost reports whether a host is an address of a private network, in which
// plain http is acceptable.
func isPrivateHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.IsPrivate() || addr.IsLinkLocalUnicast())
}
