package shape

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// YAML formats the document as YAML, with the members in their order.
func YAML(_ context.Context, doc []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	n, err := node(d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// node reads one value.
func node(d *json.Decoder) (*yaml.Node, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if tok == '{' {
			n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		for d.More() {
			child, err := node(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if n.Kind == yaml.MappingNode {
			n.Content = lastOfEach(n.Content)
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		_, err := d.Token()
		return n, err
	case string:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: tok}
		if strings.Contains(tok, "\n") && !strings.ContainsAny(tok, "\r\t\u0085\u2028\u2029") {
			n.Style = yaml.LiteralStyle
		}
		return n, nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(tok.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: tok.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(tok)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
}

// lastOfEach keeps one member of each name, because JSON may repeat names and YAML may not.
func lastOfEach(members []*yaml.Node) []*yaml.Node {
	at := map[string]int{}
	var kept []*yaml.Node
	for i := 0; i+1 < len(members); i += 2 {
		if j, again := at[members[i].Value]; again {
			kept[j+1] = members[i+1]
			continue
		}
		at[members[i].Value] = len(kept)
		kept = append(kept, members[i], members[i+1])
	}
	return kept
}
