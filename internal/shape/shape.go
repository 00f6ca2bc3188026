// Package shape converts a JSON document to other forms: YAML, a table, or the output of a jq
// filter or a Go template. Numbers stay as written, and so does the order of members if the
// form has an order.
//
// The functions are pure, and a Form may be used by several goroutines.
package shape

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"github.com/itchyny/gojq"
)

// Form converts a JSON document to text.
type Form func(ctx context.Context, doc []byte) ([]byte, error)

// JQ returns the form of a jq filter: a line for each result, strings without quotes and other
// values as JSON.
func JQ(filter string) (Form, error) {
	query, err := gojq.Parse(filter)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, doc []byte) ([]byte, error) {
		v, err := decode(doc)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		for results := code.RunWithContext(ctx, v); ; {
			v, ok := results.Next()
			if !ok {
				return b.Bytes(), nil
			}
			switch v := v.(type) {
			case error:
				if halt, ok := v.(*gojq.HaltError); ok && halt.Value() == nil {
					return b.Bytes(), nil
				}
				return nil, v
			case string:
				b.WriteString(v)
			default:
				text, err := gojq.Marshal(v)
				if err != nil {
					return nil, err
				}
				b.Write(text)
			}
			b.WriteByte('\n')
		}
	}, nil
}

// Template returns the form of a Go template. It has the functions json, which prints a value
// as JSON, and join, which joins a list with a separator.
func Template(text string) (Form, error) {
	t, err := template.New("template").Funcs(template.FuncMap{
		"json": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return string(b), err
		},
		"join": func(sep string, list []any) string {
			var words []string
			for _, v := range list {
				words = append(words, fmt.Sprint(v))
			}
			return strings.Join(words, sep)
		},
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, doc []byte) ([]byte, error) {
		v, err := decode(doc)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, v); err != nil {
			return nil, err
		}
		if b.Len() > 0 && b.Bytes()[b.Len()-1] != '\n' {
			b.WriteByte('\n')
		}
		return b.Bytes(), nil
	}, nil
}

func decode(doc []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber() // a number stays as written
	var v any
	err := d.Decode(&v)
	return v, err
}
