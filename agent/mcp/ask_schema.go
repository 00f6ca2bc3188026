package mcp

import (
	stdjson "encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-a2a/parley/internal/json"
	skills "github.com/parley-a2a/parley/internal/skill"
)

// Limits on a question's schema: its number of fields, and its depth.
const (
	maxFields = 100
	maxDepth  = 16
)

// checkOf decodes the schema of a question into s, and returns the check for answers:
// nil if the schema is unusual, so that the server must check them.
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
