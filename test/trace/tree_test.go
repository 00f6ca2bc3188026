package trace

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// texts are attributes by their keys.
func texts(list []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, kv := range list {
		switch v := kv.Value.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			all[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			all[kv.Key] = strconv.FormatInt(v.IntValue, 10)
		case *commonpb.AnyValue_BoolValue:
			all[kv.Key] = strconv.FormatBool(v.BoolValue)
		default:
			all[kv.Key] = kv.Value.String()
		}
	}
	return all
}

// has reports whether a span has attributes, each as key=value.
func (s *span) has(attrs string) bool {
	for kv := range strings.FieldsSeq(attrs) {
		key, value, _ := strings.Cut(kv, "=")
		if s.attrs[key] != value {
			return false
		}
	}
	return true
}

// orphans says which parents and links lead to no span.
func orphans(spans []*span) (lines []string) {
	known := map[string]bool{}
	for _, s := range spans {
		if known[s.id()] {
			lines = append(lines, fmt.Sprintf("%s: there are two spans %s", s.Name, s.id()))
		}
		known[s.id()] = true
	}
	for _, s := range spans {
		if p := s.parent(); p != "" && !known[p] {
			lines = append(lines, fmt.Sprintf("%s (%s) has a parent that nobody sent: %s", s.Name, s.id(), p))
		}
		for _, l := range s.Links {
			if id := hex.EncodeToString(l.SpanId); !known[id] {
				lines = append(lines, fmt.Sprintf("%s (%s) links to a span that nobody sent: %s", s.Name, s.id(), id))
			}
		}
	}
	return lines
}

// shown are the attributes that a tree shows.
var shown = []string{
	"a2a.protocol.version", "parley.binding", "parley.agent.kind", "parley.turn", "parley.attempt", "parley.taken_over", "parley.lost", "parley.step.replayed",
	"parley.stream.resumed_from", "parley.stream.events", "parley.webhook.event", "parley.webhook.attempt", "http.response.status_code", "a2a.task.state", "error.type",
}

// tree draws spans below their parents, in the order in which they began.
func tree(spans []*span) string {
	below, from := map[string][]*span{}, map[string]*span{}
	for _, s := range spans {
		from[s.id()] = s
	}
	for _, s := range spans {
		parent := s.parent()
		if from[parent] == nil {
			parent = ""
		}
		below[parent] = append(below[parent], s)
	}
	first := spans[0].StartTimeUnixNano
	for _, s := range spans {
		first = min(first, s.StartTimeUnixNano)
	}
	var b strings.Builder
	var draw func(list []*span, indent string)
	draw = func(list []*span, indent string) {
		slices.SortFunc(list, func(a, b *span) int { return int(int64(a.StartTimeUnixNano - b.StartTimeUnixNano)) })
		for i, s := range list {
			branch, deeper := "├─ ", "│  "
			if i == len(list)-1 {
				branch, deeper = "└─ ", "   "
			}
			if indent == "" && s.parent() == "" {
				branch, deeper = "", "  "
			}
			kind, _ := strings.CutPrefix(s.Kind.String(), "SPAN_KIND_")
			at := time.Duration(s.StartTimeUnixNano - first)
			fmt.Fprintf(&b, "%6d ms %6d ms  %-10s %s%s%s %s", at.Milliseconds(), s.took().Milliseconds(), s.service, indent, branch, s.Name, kind)
			for _, key := range shown {
				if v, ok := s.attrs[key]; ok {
					fmt.Fprintf(&b, " %s=%s", key, v)
				}
			}
			for _, l := range s.Links {
				name := "?"
				if to := from[hex.EncodeToString(l.SpanId)]; to != nil {
					name = to.Name
				}
				fmt.Fprintf(&b, " → %s", name)
			}
			for _, e := range s.Events {
				fmt.Fprintf(&b, " •%s", e.Name)
			}
			b.WriteByte('\n')
			draw(below[s.id()], indent+deeper)
		}
	}
	draw(below[""], "")
	return b.String()
}
