package a2aserver

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/catalog"
)

// searchPath is the path for searching the agents (ARD §5.3.2).
const searchPath = "/search"

// maxSearch bounds the body of a search, in bytes.
const maxSearch = 64 << 10

// serveListed answers a caller who is let in with a document about the agents. base is
// the address of the host; path is the requested one, and methods are the allowed ones.
func (t *table) serveListed(w http.ResponseWriter, r *http.Request, path string, methods []string, document func(x *httpCall, base string) (any, error)) {
	limitBody(w, r)
	if !t.root.fromBrowser(w, r) || !t.root.only(w, r, methods) {
		return
	}
	x := t.root.plainCall(w, r)
	defer x.protect()
	if err := x.list(path, document); err != nil {
		x.fail(err)
	}
}

func (x *httpCall) list(path string, document func(x *httpCall, base string) (any, error)) error {
	if err := x.enter(); err != nil {
		return err
	}
	base, err := x.s.baseURL(x.r, path)
	if err != nil {
		return err
	}
	doc, err := document(x, base)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	x.audit.Skip() // a list of agents is no operation
	x.write(http.StatusOK, append(b, '\n'))
	return nil
}

// entries returns the agents as entries of a catalog.
func (t *table) entries(base string) []catalog.Entry {
	host := hostOf(base)
	list := []catalog.Entry{}
	for _, s := range t.list {
		name := cmp.Or(s.name, "default")
		list = append(list, catalog.OfAgent(host, name, s.card, base+agentPath(s.name)+cardPath))
	}
	return list
}

func hostOf(base string) string {
	if u, err := url.Parse(base); err == nil {
		return u.Host
	}
	return ""
}

// serveCatalog answers with the manifest of the host: its agents, and where to search
// them.
func (t *table) serveCatalog(w http.ResponseWriter, r *http.Request, path string) {
	t.serveListed(w, r, path, readers, func(_ *httpCall, base string) (any, error) {
		host := hostOf(base)
		return catalog.New(host, append(t.entries(base), catalog.Entry{
			Identifier: catalog.Identifier(host, "registry", "agents"), DisplayName: "Agents of " + host, Type: catalog.TypeRegistry, URL: base + "/",
		})), nil
	})
}

// serveSearch answers POST /search.
func (t *table) serveSearch(w http.ResponseWriter, r *http.Request) {
	t.serveListed(w, r, searchPath, []string{http.MethodPost}, func(x *httpCall, base string) (any, error) {
		if err := checkMedia(r.Header); err != nil {
			return nil, err
		}
		body, err := x.readBody(min(maxSearch, t.root.opts.maxBody()))
		if err != nil {
			return nil, err
		}
		req, err := catalog.ParseSearch(body)
		if err != nil {
			return nil, invalid(err)
		}
		size := 10
		if req.PageSize != nil {
			size = *req.PageSize
		}
		found, next, err := catalog.Search(t.entries(base), req.Query, size, req.PageToken)
		if err != nil {
			return nil, invalid(err)
		}
		for i := range found {
			found[i].Source = base + "/"
		}
		return &catalog.SearchResponse{Results: found, PageToken: next}, nil
	})
}

func invalid(err error) error { return a2a.Errorf(a2a.CodeInvalidParams, "%s", err.Error()) }

// page returns the entries that the parameters of GET /agents ask for.
func (t *table) page(base string, q url.Values) (catalog.ListResponse, error) {
	size := catalog.MaxPage
	if s := q.Get("pageSize"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > catalog.MaxPage {
			return catalog.ListResponse{}, a2a.Errorf(a2a.CodeInvalidParams, "pageSize %.20q: expected 1 to %d", s, catalog.MaxPage)
		}
		size = n
	}
	for _, name := range []string{"filter", "orderBy"} {
		if q.Get(name) != "" {
			return catalog.ListResponse{}, a2a.Errorf(a2a.CodeInvalidParams, "%s is not supported: use POST %s with query.filter", name, searchPath)
		}
	}
	all := t.entries(base)
	from, to, next, err := catalog.Page(len(all), size, q.Get("pageToken"))
	if err != nil {
		return catalog.ListResponse{}, invalid(err)
	}
	return catalog.ListResponse{Items: all[from:to], Total: len(all), PageToken: next}, nil
}

// serveEntry answers with one entry, by its identifier.
func (t *table) serveEntry(w http.ResponseWriter, r *http.Request, path, urn string) {
	t.serveListed(w, r, path, readers, func(_ *httpCall, base string) (any, error) {
		all := t.entries(base)
		i := slices.IndexFunc(all, func(e catalog.Entry) bool { return e.Identifier == urn })
		if i < 0 {
			return nil, a2a.Errorf(a2a.CodeMethodNotFound, "there is nothing at this path")
		}
		return &all[i], nil
	})
}
