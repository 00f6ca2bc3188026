package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Query selects entries (ARD §5.3.1): those that match both Text and Filter.
type Query struct {
	Text   string            `json:"text"`
	Filter map[string]Values `json:"filter,omitempty"`
}

// Values are the values of a filter, of which one must match.
type Values []string

// UnmarshalJSON accepts a string as a list of one.
func (v *Values) UnmarshalJSON(doc []byte) error {
	var one string
	if json.Unmarshal(doc, &one) == nil {
		*v = Values{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(doc, &list); err != nil {
		return fmt.Errorf("a filter's value is a text or a list of texts")
	}
	*v = list
	return nil
}

// SearchRequest is the body of POST /search.
type SearchRequest struct {
	Query      *Query `json:"query"`
	Federation string `json:"federation"` // auto, referrals, none
	PageSize   *int   `json:"pageSize"`
	PageToken  string `json:"pageToken"`
}

// Result is a matching entry. Score is from 1 to 100, and says how well the entry matches, not
// whether to trust it.
type Result struct {
	Entry
	Score  int    `json:"score"`
	Source string `json:"source"`
}

// SearchResponse is the answer to a SearchRequest.
type SearchResponse struct {
	Results   []Result `json:"results"`
	PageToken string   `json:"pageToken,omitempty"`
}

// ListResponse is the answer to GET /agents.
type ListResponse struct {
	Items     []Entry `json:"items"`
	Total     int     `json:"total"`
	PageToken string  `json:"pageToken,omitempty"`
}

// MaxPage is the maximum length of a page.
const MaxPage = 100

// filters are the members that a filter may name.
var filters = map[string]func(*Entry) []string{
	"identifier":   func(e *Entry) []string { return []string{e.Identifier} },
	"displayName":  func(e *Entry) []string { return []string{e.DisplayName} },
	"type":         func(e *Entry) []string { return []string{e.Type} },
	"version":      func(e *Entry) []string { return []string{e.Version} },
	"publisher":    func(e *Entry) []string { return []string{e.Publisher()} },
	"tags":         func(e *Entry) []string { return e.Tags },
	"capabilities": func(e *Entry) []string { return e.Capabilities },
}

// ParseSearch reads the body of POST /search.
func ParseSearch(doc []byte) (*SearchRequest, error) {
	r := new(SearchRequest)
	if err := json.Unmarshal(doc, r); err != nil {
		return nil, fmt.Errorf("the body is not a search: expected {\"query\": {\"text\": \"...\"}}")
	}
	switch {
	case r.Query == nil || strings.TrimSpace(r.Query.Text) == "":
		return nil, fmt.Errorf("query.text is missing: expected what you are looking for, in words")
	case len(r.Query.Text) > maxText:
		return nil, fmt.Errorf("query.text has %d bytes: %d at most", len(r.Query.Text), maxText)
	case !slices.Contains([]string{"", "auto", "referrals", "none"}, r.Federation):
		return nil, fmt.Errorf("federation %q: expected auto, referrals or none", r.Federation)
	case r.PageSize != nil && (*r.PageSize < 1 || *r.PageSize > MaxPage):
		return nil, fmt.Errorf("pageSize %d: expected 1 to %d", *r.PageSize, MaxPage)
	}
	for key := range r.Query.Filter {
		if filters[key] == nil {
			return nil, fmt.Errorf("query.filter.%s is not supported: expected identifier, displayName, type, version, publisher, tags or capabilities", key)
		}
	}
	return r, nil
}

// Search returns a page of the entries that match a query, best first, and the token of the
// next page.
func Search(entries []Entry, q *Query, size int, token string) (page []Result, next string, err error) {
	wanted := words(q.Text)
	all := []Result{}
	for i := range entries {
		e := &entries[i]
		if score := e.score(wanted); score > 0 && e.passes(q.Filter) {
			r := Result{Entry: *e, Score: score}
			r.Queries = nil // a projection: they are for the index
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Result) int {
		return cmp.Or(b.Score-a.Score, strings.Compare(a.Identifier, b.Identifier))
	})
	from, to, next, err := Page(len(all), size, token)
	if err != nil {
		return nil, "", err
	}
	return all[from:to], next, nil
}

// Page returns the range of n elements that is on a page.
func Page(n, size int, token string) (from, to int, next string, err error) {
	if token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 {
			return 0, 0, "", fmt.Errorf("pageToken %.40q is not a token of this server", token)
		}
	}
	from = min(from, n)
	if to = min(from+size, n); to < n {
		next = strconv.Itoa(to)
	}
	return from, to, next, nil
}

func (e *Entry) passes(filter map[string]Values) bool {
	for key, wanted := range filter {
		member := filters[key]
		if member == nil || !slices.ContainsFunc(member(e), func(has string) bool {
			return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(has, w) })
		}) {
			return false
		}
	}
	return true
}

// score returns how well an entry matches some words: the share of the words that it has, with
// names weighted more than mentions. 0 means no match.
func (e *Entry) score(wanted []string) int {
	if len(wanted) == 0 {
		return 0
	}
	weights := []struct {
		in     []string
		points int
	}{
		{words(e.DisplayName + " " + e.Name()), 100},
		{words(strings.Join(e.Capabilities, " ") + " " + strings.Join(e.Tags, " ")), 90},
		{words(strings.Join(e.Queries, " ")), 80},
		{words(e.Description), 60},
	}
	sum := 0
	for _, w := range wanted {
		for _, part := range weights {
			if slices.ContainsFunc(part.in, func(has string) bool { return alike(has, w) }) {
				sum += part.points
				break
			}
		}
	}
	if sum == 0 {
		return 0
	}
	return max(sum/len(wanted), 1)
}

// alike reports whether two words have the same stem: translate, translation.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n >= 4 && n >= max(len(a), len(b))-4
}

// common are words that are ignored in searches.
var common = []string{"a", "an", "and", "agent", "agents", "can", "find", "for", "i", "in", "is", "me", "my", "need", "of", "on", "or", "that", "the", "to", "tool", "tools", "want", "what", "which", "who", "with"}

// words returns the words of a text in lower case without common ones; with them if there are
// no others.
func words(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	telling := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return slices.Contains(common, w) })
	if len(telling) == 0 {
		return all
	}
	return telling
}
