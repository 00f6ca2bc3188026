package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/catalog"
	"github.com/parley-a2a/parley/internal/catalog/crawl"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
)

func newCatalog(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "catalog", Short: "Find agents in the catalogs that hosts publish"},
		newCatalogAdd(a), newCatalogList(a), newCatalogSearch(a), newCatalogRefresh(a), newCatalogRemove(a))
}

func newCatalogAdd(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "add HOST",
		Short: "Read and keep the catalog of a host",
		Long: `Read the catalog that a host publishes (/.well-known/ard.json, or the older
ai-catalog.json), the catalogs it lists and the card of each agent, report problems,
and keep the list. From then on -a accepts the names in it: -a greeter, or the whole
identifier if several agents have the name.

Credentials are sent only to the host itself, if it asks for them. Addresses on your
own network that a public catalog names are not contacted.`,
		Example: `  parley catalog add https://agents.example.org
  parley catalog add https://example.org/agents.json
  parley send -a greeter "hello"`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, args []string) error {
		c, err := a.readCatalog(ctx, args[0])
		if err != nil {
			return err
		}
		return a.showCatalogs([]*crawl.Catalog{c})
	})
}

// readCatalog reads a catalog and stores it.
func (a *app) readCatalog(ctx context.Context, at string) (*crawl.Catalog, error) {
	own := a.clientOptions()
	own.Token, own.CheckCard = nil, nil // a catalog is no card
	a.warnCredentials(at)
	others := a.clientOptions()
	others.Token, others.Bearer, others.APIKey, others.User, others.Password, others.Header = nil, "", "", "", "", nil
	others.HTTPClient = a.issuerClient() // without a client certificate
	c, err := crawl.Read(ctx, at, &crawl.Options{Own: own, Others: others, Now: time.Now})
	if err != nil {
		var e *a2aclient.CardError
		if ctx.Err() != nil || errors.As(err, &e) && (e.Kind == a2aclient.CardForbidden || e.Kind == a2aclient.CardUnreachable) {
			return nil, err
		}
		if e != nil {
			err = e.Err
		}
		return nil, failure.New(failure.CodeCardNotFound, "no catalog: "+err.Error(), err).
			WithHint("give the host or base URL that publishes %s, or the full URL of a catalog", catalog.Path)
	}
	doc, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return nil, err
	}
	dir := a.around.contexts.Catalogs()
	return c, dir.Save(dir.Name(at), append(doc, '\n'))
}

// catalogs returns the catalogs with these names, or all if there are none.
func (a *app) catalogs(names ...string) (list []*crawl.Catalog, err error) {
	dir := a.around.contexts.Catalogs()
	if len(names) == 0 {
		if names, err = dir.Names(); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		doc, err := dir.Load(name)
		if err != nil {
			return nil, err
		}
		c := new(crawl.Catalog)
		if err := json.Unmarshal(doc, c); err != nil {
			return nil, failure.Usagef("catalog %s was not read: its file is not what parley catalog add writes", name).
				WithHint("parley catalog remove %s, then parley catalog add %[1]s", name)
		}
		list = append(list, c)
	}
	return list, nil
}

// noCatalogs says how to add the first one.
func (a *app) noCatalogs() {
	a.stderr.Note("Hint", "there are no catalogs yet: parley catalog add https://agents.example.org")
}

func (a *app) showCatalogs(list []*crawl.Catalog) error {
	if list == nil {
		list = []*crawl.Catalog{}
		a.noCatalogs()
	}
	return a.print.Doc(map[string]any{"catalogs": list}, func(out *output.Writer) {
		for i, c := range list {
			if i > 0 {
				out.Blank()
			}
			out.Field("Catalog", c.Source)
			out.Field("Fetched", c.Fetched.Local().Format(time.RFC3339))
			for _, agent := range c.Agents {
				showAgent(out, &agent)
			}
			for _, f := range c.Findings {
				out.Field("Finding", f.Entry+": "+f.Text)
			}
		}
	})
}

func showAgent(out *output.Writer, agent *crawl.Agent) {
	line := agent.Name() + " " + agent.URL
	if agent.Description != "" {
		line += " " + agent.Description
	}
	out.Field("Agent", line)
	for _, f := range agent.Findings {
		out.Field("Finding", agent.Identifier+": "+f)
	}
}

func newCatalogList(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:     "list [NAME]",
		Short:   "List catalogs, their agents, and problems with the agents' cards",
		Example: `  parley catalog list`,
		Args:    cobra.MaximumNArgs(1),
	}, func(_ context.Context, args []string) error {
		list, err := a.catalogs(args...)
		if err != nil {
			return err
		}
		return a.showCatalogs(list)
	})
}

func newCatalogSearch(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:     "search WORDS...",
		Short:   "Search the agents in all catalogs",
		Long:    "Search the agents of all catalogs, by words in their names, skills, tags, examples and\ndescriptions. Nothing is sent over the network.",
		Example: `  parley catalog search translate a text`,
		Args:    cobra.MinimumNArgs(1),
	}, func(_ context.Context, args []string) error {
		list, err := a.catalogs()
		if err != nil {
			return err
		}
		found, agents, err := crawl.Search(list, strings.Join(args, " "))
		if err != nil {
			return err
		}
		switch {
		case len(list) == 0:
			a.noCatalogs()
		case len(found) == 0:
			a.stderr.Note("Note", "nothing found in %s", plain.Count(len(list), "catalog"))
		}
		return a.print.Doc(&catalog.SearchResponse{Results: found}, func(out *output.Writer) {
			for _, agent := range agents {
				showAgent(out, agent)
			}
		})
	})
}

func newCatalogRefresh(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:     "refresh [NAME]",
		Short:   "Fetch catalogs and their agents' cards again",
		Example: `  parley catalog refresh`,
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, args []string) error {
		old, err := a.catalogs(args...)
		if err != nil {
			return err
		}
		var list []*crawl.Catalog
		for _, c := range old {
			now, err := a.readCatalog(ctx, c.Source)
			if err != nil {
				return err // the other catalogs stay as they are
			}
			list = append(list, now)
		}
		return a.showCatalogs(list)
	})
}

func newCatalogRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a catalog",
		Example: `  parley catalog remove agents.example.org`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.around.contexts.Catalogs().Remove(args[0]) },
	}
}

// findAgent replaces the name of an agent in a catalog by its address. A name is a word without
// dots, colons and slashes, or an identifier. A word that is in no catalog stays a host name.
func (a *app) findAgent() error {
	ref := a.flags.agentCard
	urn := strings.HasPrefix(ref, "urn:")
	if ref == "" || a.from != nil || !urn && strings.ContainsAny(ref, `.:/\@`) {
		return nil
	}
	list, err := a.catalogs()
	if err != nil {
		if urn {
			return err
		}
		a.stderr.Note("Warning", "your catalogs are not looked into: %s", strings.TrimPrefix(err.Error(), failure.CodeUsage+": "))
		return nil // it may be a host name
	}
	found := crawl.Named(list, ref)
	switch {
	case len(found) == 1:
		a.flags.agentCard, a.from = found[0].URL, found[0].From
		a.stderr.Note("Note", "%s is %s", plain.Quote(ref), plain.Line(found[0].URL))
	case len(found) > 1:
		var all []string
		for _, f := range found {
			all = append(all, f.Identifier+" at "+f.URL)
		}
		return failure.Usagef("-a %s: %d agents of your catalogs have the name", plain.Quote(ref), len(found)).
			WithHint("name one by its identifier or address: %s", plain.Line(strings.Join(all, ", ")))
	case urn:
		return failure.Usagef("-a %s: no catalog has this identifier", plain.Quote(ref)).WithHint("parley catalog list shows those there are; parley catalog add HOST reads another")
	}
	return nil
}
