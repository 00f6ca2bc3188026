package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// maxModels caps the endpoint's list of models, in bytes.
const maxModels = 1 << 20

// ErrNoList says that an endpoint answers but has no list of its models.
var ErrNoList = errors.New("openai: the endpoint has no list of models")

// Models returns the names of the endpoint's models, sorted. The error is ErrNoList if
// the endpoint has no list of them. Other errors name no secret.
func (a *Agent) Models(ctx context.Context) ([]string, error) {
	base, query, _ := strings.Cut(a.endpoint, "?")
	url := strings.TrimSuffix(base, "/chat/completions") + "/models"
	if query != "" {
		url += "?" + query
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	a.sign(req)
	res, err := a.client.Do(req)
	var doc []byte
	if err == nil {
		defer res.Body.Close()
		doc, err = io.ReadAll(io.LimitReader(res.Body, maxModels+1))
	}
	switch {
	case err != nil:
		return nil, errors.New(a.without(broken(why(ctx, err)).cause.Error()))
	case res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusMethodNotAllowed, res.StatusCode == http.StatusNotImplemented, len(doc) > maxModels:
		return nil, ErrNoList
	case res.StatusCode != http.StatusOK:
		return nil, errors.New(a.without(fmt.Sprintf("status %d: %s", res.StatusCode, readError(doc[:min(len(doc), 1<<10)]))))
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(doc, &list) != nil || list.Data == nil {
		return nil, ErrNoList
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// sign sets the headers that identify the agent.
func (a *Agent) sign(req *http.Request) {
	req.Header.Set("User-Agent", "Parley")
	if k := a.opts.APIKey.Reveal(); k != "" {
		req.Header.Set("Authorization", "Bearer "+k)
	}
	for name, v := range a.opts.Headers {
		req.Header.Set(name, v.Reveal())
	}
}
