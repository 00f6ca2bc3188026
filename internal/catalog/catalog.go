// Package catalog handles lists of agents in the format of Agentic Resource Discovery (ARD,
// draft 0.91 of 2026-08-26): manifests, checks of their entries, and a search through them.
//
//	m, findings, err := catalog.Parse(doc)
//	found, next, err := catalog.Search(m.Entries, &catalog.Query{Text: "translate"}, 10, "")
//
// A manifest comes from a stranger: its entries are checked one by one, and a mistake in one is
// a finding that does not affect the others. The package makes no requests.
package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// The paths of manifests: since 0.91, and before it.
const (
	Path    = "/.well-known/ard.json"
	OldPath = "/.well-known/ai-catalog.json"
)

// Media types of entries.
const (
	TypeAgent    = "application/a2a-agent-card+json"
	TypeCatalog  = "application/ai-catalog+json"
	TypeRegistry = "application/ai-registry+json"
)

// Limits on what is read.
const (
	MaxEntries = 1000
	maxText    = 2000 // bytes of a member
	maxList    = 100  // elements of a member
)

// Manifest is a list of entries. Other members are not ARD's.
type Manifest struct {
	SpecVersion string  `json:"specVersion"`
	Host        *Host   `json:"host,omitempty"`
	Entries     []Entry `json:"entries"`
}

// New returns the manifest of a host.
func New(host string, entries []Entry) *Manifest {
	return &Manifest{SpecVersion: "1.0", Host: &Host{DisplayName: host}, Entries: entries}
}

// Host is the publisher of a manifest.
type Host struct {
	DisplayName string `json:"displayName"`
}

// Entry is an agent, or another list.
type Entry struct {
	Identifier  string          `json:"identifier"` // urn:air:<publisher>:<namespace>:<name>
	DisplayName string          `json:"displayName"`
	Type        string          `json:"type"`
	URL         string          `json:"url,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"` // in place of URL

	Description  string   `json:"description,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Queries      []string `json:"representativeQueries,omitempty"`
	Version      string   `json:"version,omitempty"`
}

// IsAgent reports whether the entry is an A2A agent.
func (e *Entry) IsAgent() bool {
	return strings.EqualFold(e.Type, TypeAgent) || strings.EqualFold(e.Type, "application/agent-card+json")
}

// IsCatalog reports whether the entry is another manifest.
func (e *Entry) IsCatalog() bool { return strings.EqualFold(e.Type, TypeCatalog) }

// Publisher returns the domain that the identifier claims.
func (e *Entry) Publisher() string {
	rest, _ := strings.CutPrefix(e.Identifier, urn)
	publisher, _, _ := strings.Cut(rest, ":")
	return publisher
}

// Name returns the last part of the identifier.
func (e *Entry) Name() string { return e.Identifier[strings.LastIndexByte(e.Identifier, ':')+1:] }

const urn = "urn:air:"

var identifiers = regexp.MustCompile(`^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$`)

// Finding says what is wrong with an entry.
type Finding struct {
	Entry string `json:"entry"` // its identifier, or its index: entries[3]
	Text  string `json:"text"`
}

// Parse parses a manifest. Entries that cannot be used are left out and reported as findings.
func Parse(doc []byte) (*Manifest, []Finding, error) {
	var in struct {
		SpecVersion string            `json:"specVersion"`
		Host        *Host             `json:"host"`
		Entries     []json.RawMessage `json:"entries"`
	}
	if err := json.Unmarshal(doc, &in); err != nil || in.Entries == nil {
		return nil, nil, fmt.Errorf("not a catalog: expected a JSON object with an array of entries")
	}
	m := &Manifest{SpecVersion: in.SpecVersion, Host: in.Host, Entries: []Entry{}}
	var findings []Finding
	known := map[string]bool{}
	for i, raw := range in.Entries {
		if i == MaxEntries {
			findings = append(findings, Finding{"entries", fmt.Sprintf("%d entries: the first %d are used", len(in.Entries), MaxEntries)})
			break
		}
		var e Entry
		at := fmt.Sprintf("entries[%d]", i)
		why := "a member has a type that entries do not have"
		if json.Unmarshal(raw, &e) == nil {
			if e.identified() {
				at = e.Identifier
			}
			if why = e.check(); why == "" && known[e.Identifier] {
				why = "the identifier is there twice: the first entry is used"
			}
		}
		if why != "" {
			findings = append(findings, Finding{at, why})
			continue
		}
		known[e.Identifier] = true
		m.Entries = append(m.Entries, e)
	}
	return m, findings, nil
}

func (e *Entry) identified() bool {
	return identifiers.MatchString(e.Identifier) && len(e.Identifier) <= maxText
}

// check returns why an entry cannot be used; "" if it can.
func (e *Entry) check() string {
	switch {
	case !e.identified():
		return "the identifier is not urn:air:<publisher>:<name>"
	case e.DisplayName == "":
		return "there is no displayName"
	case e.Type == "":
		return "there is no type"
	case (e.URL == "") == (len(e.Data) == 0):
		return "there must be exactly one of url and data"
	case e.URL != "" && a2a.WebURL(e.URL) == nil:
		return "the url is not an http or https URL"
	case len(e.Data) > 0 && e.Data[0] != '{':
		return "data is not an object"
	}
	for _, s := range []string{e.DisplayName, e.Type, e.URL, e.Description, e.Version} {
		if len(s) > maxText {
			return fmt.Sprintf("a member has more than %d bytes", maxText)
		}
	}
	for _, list := range [][]string{e.Tags, e.Capabilities, e.Queries} {
		if len(list) > maxList {
			return fmt.Sprintf("a member has more than %d elements", maxList)
		}
		for _, s := range list {
			if len(s) > maxText {
				return fmt.Sprintf("a member has more than %d bytes", maxText)
			}
		}
	}
	return ""
}

// OfAgent returns the entry of an agent whose card is at an address. host is the publisher.
func OfAgent(host, name string, card *a2a.AgentCard, at string) Entry {
	e := Entry{
		Identifier: Identifier(host, "agent", name), DisplayName: card.Name, Type: TypeAgent, URL: at,
		Description: card.Description, Version: card.Version,
	}
	for _, s := range card.Skills {
		if s == nil {
			continue
		}
		e.Capabilities = appendNew(e.Capabilities, s.ID)
		for _, tag := range s.Tags {
			e.Tags = appendNew(e.Tags, tag)
		}
		for _, q := range s.Examples {
			if len(e.Queries) < 5 { // as many as the specification recommends
				e.Queries = appendNew(e.Queries, q)
			}
		}
	}
	if len(e.Queries) < 2 {
		e.Queries = nil // the schema of 0.9 does not allow fewer
	}
	return e
}

func appendNew(list []string, s string) []string {
	if s == "" || len(list) == maxList || len(s) > maxText || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// Identifier returns the URN of something that a host, with or without a port, publishes.
func Identifier(host, namespace, name string) string {
	u := url.URL{Host: host}
	publisher := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, strings.Trim(strings.ToLower(u.Hostname()), ":"))
	publisher = cmp.Or(publisher, "localhost")
	return urn + publisher + ":" + namespace + ":" + name
}
