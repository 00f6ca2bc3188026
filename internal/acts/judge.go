package acts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// judge compares an answer with the step's expectations.
func (p *player) judge(s *Step, a *Answer) error {
	if a.broken != nil {
		return p.fail(s.ID, &Mismatch{"", "an answer", a.broken.Error()})
	}
	for _, of := range []struct {
		want  obj
		word  string // begins the message
		judge func(*Step, *Answer, obj) *Mismatch
	}{{s.Expect, "header ", p.judgeHeaders}, {s.Expect, "", p.judgeExpect}, {s.Error, "", judgeError}, {s.Stream, "", judgeStream}} {
		if of.want == nil {
			continue
		}
		want, err := p.resolve(of.want)
		if err != nil {
			return p.cannot(err)
		}
		if m := of.judge(s, a, want.(obj)); m != nil {
			f := p.fail(s.ID, m)
			f.Message = of.word + f.Message
			return f
		}
	}
	return nil
}

func (p *player) judgeHeaders(_ *Step, a *Answer, want obj) *Mismatch {
	h, _ := want["headers"].(obj)
	if p.iface.binding == GRPC {
		return nil
	}
	for name, w := range h {
		got := a.header.Values(name)
		if m := match(w, strings.Join(got, ", "), len(got) > 0, name); m != nil {
			return m
		}
	}
	return nil
}

func (p *player) judgeExpect(s *Step, a *Answer, want obj) *Mismatch {
	body, hasBody := want["body"]
	status, hasStatus := want["status"]
	if s.Raw != nil {
		if hasStatus {
			if m := match(status, float64(a.status), true, "status"); m != nil {
				return m
			}
		}
		if hasBody {
			return match(body, a.raw, a.raw != nil, "")
		}
		return nil
	}
	o, _ := body.(obj)
	if _, mayFail := o["error"]; a.err != nil && !mayFail {
		return &Mismatch{"", "a result", a.said()}
	}
	if hasStatus && a.status != 0 && p.iface.binding != GRPC {
		if m := match(status, float64(a.status), true, "status"); m != nil {
			if status != 200.0 || a.status < 200 || a.status > 299 { // 201 and 204 have a check of their own
				return m
			}
		}
	}
	if hasBody {
		return match(body, a.content(), true, "")
	}
	return nil
}

func judgeError(_ *Step, a *Answer, want obj) *Mismatch {
	names := []string{}
	switch v := want["error_type"].(type) {
	case string:
		names = append(names, v)
	case obj:
		for _, n := range asElements(v["one_of"]) {
			names = append(names, plainText(n))
		}
	}
	expected := cmp.Or(strings.Join(names, " or "), "an error")
	e := a.err
	if e == nil && a.stream != nil {
		// An error may come as the first event, if the answer had to begin at once.
		if events := a.stream.seen(); len(events) > 0 && events[0].err != nil {
			e = events[0].err
		}
	}
	if e == nil {
		return &Mismatch{"", expected, a.said()}
	}
	if len(names) > 0 && !slices.ContainsFunc(names, e.is) {
		return &Mismatch{"error", expected, (&Answer{err: e}).said()}
	}
	v := e.value()
	for _, name := range []string{"message", "details"} {
		if w, there := want[name]; there {
			got, has := v[name]
			if m := match(w, got, has, "error."+name); m != nil {
				return m
			}
		}
	}
	return nil
}

func judgeStream(_ *Step, a *Answer, want obj) *Mismatch {
	if a.stream == nil {
		return &Mismatch{"", "a stream", a.said()}
	}
	events := a.events()
	if m, ok := want["min_count"].(float64); ok && float64(len(events)) < m {
		return &Mismatch{"events", fmt.Sprintf("%d events or more", int(m)), fmt.Sprint(len(events))}
	}
	if m, ok := want["max_count"].(float64); ok && float64(len(events)) > m {
		return &Mismatch{"events", fmt.Sprintf("%d events at most", int(m)), fmt.Sprint(len(events))}
	}
	if want["ordering"] == "monotonic_state" {
		if m := monotonic(a.stream.seen()); m != nil {
			return m
		}
	}
	for n, w := range asElements(want["events"]) {
		if m := matchEvent(w, n, events); m != nil {
			return m
		}
	}
	if w, ok := want["each_event"]; ok {
		for n, v := range events {
			if m := match(w, v, true, fmt.Sprintf("events[%d]", n)); m != nil {
				return m
			}
		}
	}
	if w, ok := want["final_event"]; ok {
		if len(events) == 0 {
			return &Mismatch{"events", "a last event", "none"}
		}
		return match(w, events[len(events)-1], true, fmt.Sprintf("events[%d]", len(events)-1))
	}
	return nil
}

func matchEvent(w any, n int, views []any) *Mismatch {
	o, ok := w.(obj)
	if !ok {
		return match(w, nil, false, "events")
	}
	what := maps.Clone(o)
	for _, word := range []string{"description", "match", "index"} {
		delete(what, word)
	}
	if o["match"] == "any_position" {
		for n, v := range views {
			if match(any(what), v, true, fmt.Sprintf("events[%d]", n)) == nil {
				return nil
			}
		}
		return &Mismatch{"events", "an event like " + show(what), fmt.Sprintf("none of %d", len(views))}
	}
	if i, ok := o["index"].(float64); ok {
		n = int(i)
	}
	at := fmt.Sprintf("events[%d]", n)
	if n < 0 || n >= len(views) {
		return &Mismatch{at, "an event", fmt.Sprintf("%d events", len(views))}
	}
	return match(any(what), views[n], true, at)
}

// monotonic checks ACTS §7.1: no transition back to SUBMITTED, or out of a terminal state.
func monotonic(events []*StreamEvent) *Mismatch {
	last := ""
	for n, e := range events {
		s := e.state()
		if s == "" {
			continue
		}
		if last != "" && last != s && (terminal[last] || s == "TASK_STATE_SUBMITTED") {
			return &Mismatch{fmt.Sprintf("events[%d]", n), "no way from " + last + " to another state", s}
		}
		last = s
	}
	return nil
}

// assert checks across answers. Without a source it checks the step's own value.
func (p *player) assert(x *Assertion, step string, response any) error {
	source, err := p.resolve(x.Source)
	if err != nil {
		return p.cannot(err)
	}
	if text, ok := source.(string); ok && text == x.Source { // a path without braces
		if v, err := p.lookup(text); err == nil {
			source = v
		} else if text == "response" {
			source = response
		}
	}
	resolve := func(v any) any {
		r, err := p.resolve(v)
		if err != nil {
			return v
		}
		return r
	}
	if x.hasMatch {
		v, there := source, true
		if x.Path != "" {
			v, there = lookup(source, x.Path)
		}
		if m := match(resolve(x.Match), v, there, x.Path); m != nil {
			return p.fail(step, m)
		}
	}
	for _, c := range []struct {
		of   *CollectionMatch
		word string
	}{{x.Any, "any"}, {x.All, "all"}, {x.None, "none"}} {
		if c.of == nil {
			continue
		}
		at, err := parsePath(c.of.Path)
		if err != nil {
			return err
		}
		found, hits := at.find(source), 0
		want := resolve(c.of.Match)
		var first *Mismatch
		for _, v := range found {
			if m := match(want, v, true, c.of.Path); m == nil {
				hits++
			} else if first == nil {
				first = m
			}
		}
		switch {
		case c.word == "any" && hits == 0:
			return p.fail(step, &Mismatch{c.of.Path, "an element like " + show(want), fmt.Sprintf("none of %d", len(found))})
		case c.word == "all" && first != nil:
			return p.fail(step, first)
		case c.word == "none" && hits > 0:
			return p.fail(step, &Mismatch{c.of.Path, "no element like " + show(want), fmt.Sprintf("%d of %d", hits, len(found))})
		}
	}
	return nil
}
