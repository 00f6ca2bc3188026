package main

import (
	"fmt"
	"testing"

	"go.yaml.in/yaml/v4"
)

// readYAML reads one document; keys that come twice are refused.
func readYAML(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// at is a value in a document, by the keys and indexes that lead there.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for i, step := range path {
		var next any
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			next = m[step]
		case int:
			if l, _ := v.([]any); step < len(l) {
				next = l[step]
			}
		}
		if v = next; v == nil {
			t.Fatalf("there is no %v", path[:i+1])
		}
	}
	return v
}

func wordsOf(t *testing.T, v any) (words []string) {
	t.Helper()
	l, ok := v.([]any)
	if !ok {
		t.Fatalf("%v is no list", v)
	}
	for _, w := range l {
		words = append(words, fmt.Sprint(w))
	}
	return words
}
