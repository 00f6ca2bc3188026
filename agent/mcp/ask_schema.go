package mcp

import (
	stdjson "encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-a2a/parley/internal/json"
	skills "github.com/parley-a2a/parley/internal/skill"
)

// Of the schema of a question: how many fields it may have, and how deep it may be.
const (
	maxFields = 100
	maxDepth  = 16
)

// checkOf reads the schema of a question into s, and returns what answers are checked
// with: nil for an unusual schema, which is for the server to check.
func checkOf(doc []byte, s *jsonschema.Schema) (check *skills.Schema, err error) {
	if len(doc) > maxQuestion || json.Deeper(doc, maxDepth) {
		return nil, errQuestion
	}
	if err := stdjson.Unmarshal(doc, s); err != nil {
		return nil, err
	}
	if len(s.Properties) > maxFields {
		return nil, errQuestion
	}
	for _, p := range s.Properties {
		if p == nil {
			return nil, errQuestion
		}
	}
	_ = safely(func() (err error) {
		check, err = skills.Compile(doc)
		return err
	})
	return check, nil
}
