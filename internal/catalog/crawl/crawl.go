// Package crawl reads the catalog of a host, with the catalogs that it names, and the
// cards of the agents in it.
//
// The publisher of a catalog decides what is in it. So the number of documents and agents and
// the time for each are limited, no document is read twice, and which addresses a document may
// name depends on where it came from.
package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/catalog"
)

// Limits of a catalog.
const (
	MaxDocuments = 20
	MaxAgents    = 200
	maxDepth     = 3
	maxFindings  = 200
	atOnce       = 4
	cardTimeout  = 15 * time.Second
)

// Catalog is the result of reading a catalog.
type Catalog struct {
	Source   string            `json:"source"` // as the user gave it
	Fetched  time.Time         `json:"fetched"`
	Agents   []Agent           `json:"agents"`
	Findings []catalog.Finding `json:"findings,omitempty"`
}

// Agent is an agent of a catalog. URL is the URL of its card.
type Agent struct {
	catalog.Entry
	From     *a2aclient.Source `json:"from"`               // the document that names the URL
	Findings []string          `json:"findings,omitempty"` // of its card
}

// Options says how to make requests.
type Options struct {
	// Own is for requests to the host that the user named, with credentials if there are any.
	Own *a2aclient.Options
	// Others is for requests to hosts that catalogs name. It must have no credentials.
	Others *a2aclient.Options
	// Now is the time.
	Now func() time.Time
}

// crawler reads one catalog. It belongs to one goroutine, except for the cards.
type crawler struct {
	opts *Options
	out  *Catalog
	seen map[string]bool
	docs int
}

// Read reads the catalog at a host, a base URL or the URL of a manifest. An error says that
// there is no catalog; a mistake in a part of it is a finding.
func Read(ctx context.Context, at string, o *Options) (*Catalog, error) {
	c := &crawler{opts: o, out: &Catalog{Source: at, Fetched: o.Now().UTC().Truncate(time.Second), Agents: []Agent{}}, seen: map[string]bool{}}
	doc, from, where, err := c.first(ctx, at)
	if err != nil {
		return nil, err
	}
	m, findings, err := catalog.Parse(doc)
	if err != nil {
		return nil, fmt.Errorf("%s is %w", where, err)
	}
	c.take(ctx, m, findings, from, 1)
	c.cards(ctx)
	return c.out, context.Cause(ctx)
}

// first fetches the manifest that the user named.
func (c *crawler) first(ctx context.Context, at string) (doc []byte, from *a2aclient.Source, where string, err error) {
	urls, err := manifests(at)
	if err != nil {
		return nil, nil, "", err
	}
	r := a2aclient.NewResolver(c.opts.Own)
	for i, u := range urls {
		doc, from, err = r.Document(ctx, u)
		var e *a2aclient.CardError
		if err == nil || i == len(urls)-1 || !errors.As(err, &e) || e.Kind != a2aclient.CardNotFound && e.Kind != a2aclient.CardInvalid {
			c.seen[u] = true
			c.docs++
			return doc, from, u, err
		}
	}
	return nil, nil, "", err
}

// manifests returns the possible URLs of a reference's manifest.
func manifests(at string) ([]string, error) {
	if !strings.Contains(at, "://") {
		scheme := "https://"
		if u, err := url.Parse("http://" + at); err == nil && a2a.IsLoopback(u.Hostname()) {
			scheme = "http://"
		}
		at = scheme + at
	}
	u := a2a.WebURL(at)
	if u == nil {
		return nil, fmt.Errorf("%q is neither a host nor an http or https URL", at)
	}
	if strings.HasSuffix(u.Path, ".json") || strings.Contains(u.Path, "/.well-known/") {
		return []string{u.String()}, nil
	}
	base := strings.TrimRight(u.String(), "/")
	return []string{base + catalog.Path, base + catalog.OldPath}, nil
}

func (c *crawler) find(entry, format string, args ...any) {
	if len(c.out.Findings) < maxFindings {
		c.out.Findings = append(c.out.Findings, catalog.Finding{Entry: entry, Text: fmt.Sprintf(format, args...)})
	}
}

// take adds the agents of a manifest, and reads the catalogs in it.
func (c *crawler) take(ctx context.Context, m *catalog.Manifest, findings []catalog.Finding, from *a2aclient.Source, depth int) {
	for _, f := range findings {
		c.find(f.Entry, "%s", f.Text)
	}
	for _, e := range m.Entries {
		switch {
		case ctx.Err() != nil:
			return
		case e.IsAgent():
			c.agent(e, from)
		case e.IsCatalog():
			c.nested(ctx, e, from, depth)
		}
	}
}

func (c *crawler) agent(e catalog.Entry, from *a2aclient.Source) {
	switch {
	case e.URL == "":
		c.find(e.Identifier, "its card is in the catalog itself: save it, and use it as a file")
	case len(c.out.Agents) == MaxAgents:
		c.find(e.Identifier, "it is left out: %d agents of a catalog are kept", MaxAgents)
	case slices.ContainsFunc(c.out.Agents, func(a Agent) bool { return a.Identifier == e.Identifier }):
		c.find(e.Identifier, "another catalog has the identifier, too: the first is used")
	default:
		c.out.Agents = append(c.out.Agents, Agent{Entry: e, From: from})
	}
}

func (c *crawler) nested(ctx context.Context, e catalog.Entry, from *a2aclient.Source, depth int) {
	if depth == maxDepth {
		c.find(e.Identifier, "it is not read: catalogs in catalogs are read %d deep", maxDepth)
		return
	}
	doc := []byte(e.Data)
	if e.URL != "" {
		switch {
		case c.seen[e.URL]:
			return // two catalogs name each other
		case c.docs == MaxDocuments:
			c.find(e.Identifier, "it is not read: %d documents of a catalog are", MaxDocuments)
			return
		}
		c.seen[e.URL] = true
		c.docs++
		ctx, cancel := context.WithTimeout(ctx, cardTimeout)
		defer cancel()
		o := *c.opts.Others
		o.From = from
		var err error
		if doc, from, err = a2aclient.NewResolver(&o).Document(ctx, e.URL); err != nil {
			c.find(e.Identifier, "it cannot be read: %s", reason(err))
			return
		}
	}
	m, findings, err := catalog.Parse(doc)
	if err != nil {
		c.find(e.Identifier, "%v", err)
		return
	}
	c.take(ctx, m, findings, from, depth+1)
}

// cards fetches the card of each agent and records its mistakes.
func (c *crawler) cards(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range c.out.Agents {
		a := &c.out.Agents[i]
		g.Go(func() error {
			a.Findings = c.judge(ctx, a)
			return nil
		})
	}
	_ = g.Wait()
}

func (c *crawler) judge(ctx context.Context, a *Agent) (findings []string) {
	ctx, cancel := context.WithTimeout(ctx, cardTimeout)
	defer cancel()
	o := *c.opts.Others
	o.From = a.From
	card, err := a2aclient.NewResolver(&o).Resolve(ctx, a.URL)
	if err != nil {
		return []string{short(reason(err))}
	}
	if err := card.Validate(); err != nil {
		findings = append(findings, "the card is not valid: "+short(err.Error()))
	}
	if card.Name != a.DisplayName {
		findings = append(findings, fmt.Sprintf("the catalog calls it %.80q, its card %.80q", a.DisplayName, card.Name))
	}
	if u := a2a.WebURL(a.URL); u != nil && !within(u.Hostname(), a.Publisher()) {
		findings = append(findings, fmt.Sprintf("the identifier claims %s, and the card is at %s", a.Publisher(), u.Hostname()))
	}
	return findings
}

// within reports whether a host belongs to the domain of a publisher.
func within(host, publisher string) bool {
	host, publisher = strings.ToLower(host), strings.ToLower(publisher)
	return host == publisher || strings.HasSuffix(host, "."+publisher)
}

// reason returns an error's text without the name of the card.
func reason(err error) string {
	if e, ok := errors.AsType[*a2aclient.CardError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func short(s string) string {
	s = strings.ReplaceAll(s, "\n", "; ")
	return s[:min(len(s), 500)]
}
