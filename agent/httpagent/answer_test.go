package httpagent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

func TestAnswers(t *testing.T) {
	const js = "application/json"
	for name, c := range map[string]struct {
		status      int
		media, body string
		want        string // "message …" if no task is created
	}{
		"text":                 {200, js, `{"text":"hi"}`, "message hi"},
		"empty text":           {200, js, `{"text":""}`, "message "},
		"parts":                {200, js + "; charset=utf-8", ` {"parts":[{"text":"a"},{"data":{"n":1}}]}`, `message a, {"n":1}`},
		"created":              {201, "application/problem+json", `{"text":"hi"}`, "message hi"},
		"plain":                {200, "text/plain; charset=utf-8", "hi\nthere", "message hi\nthere"},
		"plain in Latin-1":     {200, "text/plain;charset=ISO-8859-1", "caf\xe9", "message café"},
		"JSON in Latin-1":      {200, js + "; charset=iso-8859-1", "{\"text\":\"caf\xe9\"}", "message café"},
		"not UTF-8":            {200, "text/plain", "a\xffb", "message a\ufffdb"},
		"image":                {200, "image/png", "\x89PNG", `completed | output: image/png "\x89PNG"`},
		"nothing":              {204, "", "", "completed"},
		"empty":                {200, "application/octet-stream", "", "completed"},
		"artifacts":            {200, js, `{"artifacts":[{"name":"a","text":"1"},{"name":"b","parts":[{"url":"https://example.com/x"}]}],"text":"done"}`, "completed done | a: 1 | b: https://example.com/x"},
		"artifacts alone":      {200, js, `{"artifacts":[{"text":"1"}]}`, "completed | -: 1"},
		"no artifacts":         {200, js, `{"artifacts":[]}`, "completed"},
		"metadata":             {200, js, `{"text":"x","metadata":{"k":1}}`, "completed x"},
		"reject":               {200, js, `{"reject":"not today"}`, "rejected not today"},
		"fail":                 {200, js, `{"fail":{"text":"broken"}}`, "failed broken"},
		"fail with artifacts":  {200, js, `{"artifacts":[{"name":"a","text":"half"}],"fail":"broken"}`, "failed broken | a: half"},
		"an event":             {200, js, `{"type":"complete","text":"done"}`, "completed done"},
		"an event, not an end": {200, js, `{"type":"artifact","name":"a","text":"1"}`, "completed | a: 1"},
		"null members":         {200, js, `{"text":"x","ask":null,"artifacts":null,"state":null}`, "message x"},
		"unknown members":      {200, js, `{"text":"x","foo":{"bar":1}}`, "message x"},
		"422 in its own words": {422, js, `{"fail":"no such city"}`, "failed no such city"},
		"403 rejects":          {403, js, `{"reject":"not for you"}`, "rejected not for you"},
		"422 in other words":   {422, js, `{"detail":"secret stack trace"}`, "failed the service answered with status 422"},
		"404":                  {404, "text/html", "<h1>at /srv/app.py", "failed the service answered with status 404"},
		"307":                  {307, "", "", "failed the service answered with status 307, a redirect, which is not followed"},
		"501":                  {501, "", "", "failed the service answered with status 501"},
		"202":                  {202, "", "", "failed the service's answer cannot be used: the service answered with status 202, but it has no address to call back"},
		"not JSON":             {200, js, `{"text":`, "failed the service's answer cannot be used: it is not JSON"},
		"a string":             {200, js, " \"h\\u00e9, \\\"x\\\"\"\n", "message hé, \"x\""},
		"half a string":        {200, js, `"text`, "failed the service's answer cannot be used: it is not JSON"},
		"more than a string":   {200, js, `"text","fail":"x"`, "failed the service's answer cannot be used: it is not JSON"},
		"no object":            {200, js, `["text"]`, "failed the service's answer cannot be used: it is not a JSON object"},
		"null":                 {200, js, `null`, "failed the service's answer cannot be used: it is not a JSON object"},
		"empty JSON":           {200, js, ``, "failed the service's answer cannot be used: it is not JSON"},
		"nothing known":        {200, js, `{"answer":"hi"}`, "failed the service's answer cannot be used: it has none of text, parts, artifacts, ask, reject and fail"},
		"two ends":             {200, js, `{"text":"x","fail":"y"}`, "failed the service's answer cannot be used: it has more than one of text, parts, ask, reject and fail"},
		"two other ends":       {200, js, `{"ask":"x","fail":"y"}`, "failed the service's answer cannot be used: it has more than one of text, parts, ask, reject and fail"},
		"text and parts":       {200, js, `{"text":"x","parts":[{"text":"y"}]}`, "failed the service's answer cannot be used: it has both text and parts"},
		"type of text":         {200, js, `{"text":["x"]}`, "failed the service's answer cannot be used: its member text must not be a JSON array"},
		"type of ask":          {200, js, `{"ask":7}`, "failed the service's answer cannot be used: its member ask: it is not a JSON object"},
		"empty ask":            {200, js, `{"ask":""}`, "failed the service's answer cannot be used: it has neither text nor parts"},
		"unknown type":         {200, js, `{"type":"whatever"}`, `failed the service's answer cannot be used: its type "whatever" is not known; it may be ` + strings.Join(types, ", ")},
		"empty part":           {200, js, `{"parts":[{}]}`, "failed the service's answer cannot be used: it has a value that version 1.0 of the protocol does not allow: *"},
		"null part":            {200, js, `{"parts":[null]}`, "failed the service's answer cannot be used: *"},
		"null artifact":        {200, js, `{"artifacts":[null]}`, "failed the service's answer cannot be used: an artifact is null"},
		"empty artifact":       {200, js, `{"artifacts":[{"name":"a"}]}`, `failed the service's answer cannot be used: artifact "a": it has neither text nor parts`},
		"reserved link":        {200, js, `{"artifacts":[{"parts":[{"url":"parley-blob:x"}]}]}`, "failed the service's answer cannot be used: it cannot be part of a task"},
		"metadata alone":       {200, js, `{"artifacts":[{"name":"x","text":"1"}],"metadata":{"k":1}}`, "completed  | x: 1"},
		"metadata of null":     {200, js, `{"type":"complete","metadata":null}`, "completed"},
		"bad metadata":         {200, js, `{"text":"x","metadata":7}`, "failed the service's answer cannot be used: its metadata must be a JSON object"},
		"bad media type":       {200, "/", "x", "failed the service's answer cannot be used: its media type cannot be read"},
		"deep":                 {200, js, `{"ask":"x","state":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "failed the service's answer cannot be used: it nests more than 100 levels deep"},
		"state not UTF-8":      {200, js, "{\"ask\":\"x\",\"state\":\"\xff\"}", "input_required x"},
		"too long":             {200, js, `{"text":"` + strings.Repeat("x", 1<<10) + `"}`, "failed the service's answer cannot be used: it is larger than the limit of 1024 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(p *post) { p.say(c.status, c.media, c.body) })
			w := newWorldAfter(t, nil, s.URL+"/hush?token=hush", &Options{MaxAnswer: 1 << 10}, time.Minute)
			res := w.send(message("hello"))
			got := ""
			if res.Task != nil {
				got = outcome(res.Task)
			} else {
				got = "message " + show(res.Message.Parts)
			}
			if want, cut := strings.CutSuffix(c.want, "*"); got != c.want && !(cut && strings.HasPrefix(got, want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if len(s.got()) != 1 {
				t.Errorf("%d requests", len(s.got()))
			}
			if all := got + w.log.String(); strings.Contains(all, "hush") {
				t.Errorf("the URL is told: %s", all)
			}
		})
	}
}

func TestQuestions(t *testing.T) {
	s := serve(t, func(p *post) {
		switch {
		case p.Type == "message":
			p.json(`{"artifacts":[{"name":"log","text":"one"}],"ask":"your name?","state":{"step":1}}`)
		case string(p.State) == `{"step":1}`:
			p.json(`{"type":"ask","parts":[{"text":"and then?"}],"state":"two"}`)
		case string(p.State) == `"two"`:
			p.json(`{"artifacts":[{"name":"log","text":"anew"},{"name":"end","text":"` + p.Text + `"}]}`)
		}
	})
	w := newWorld(t, nil, s.URL, nil)
	task := w.task("hello")
	wantOutcome(t, task, "input_required your name? | log: one")
	task = w.answer(task, "Ann")
	wantOutcome(t, task, "input_required and then? | log: one")
	task = w.answer(task, "nothing")
	wantOutcome(t, task, "completed | log: anew | end: nothing")
	posts := s.got()
	if len(posts) != 3 || posts[1].Type != "answer" || posts[1].Text != "Ann" || posts[2].Text != "nothing" {
		t.Fatalf("%d requests: %s", len(posts), posts[len(posts)-1].raw)
	}
	keys := map[string]bool{}
	for i, p := range posts {
		keys[p.Request.Header.Get("Idempotency-Key")] = true
		if p.Task != task.ID {
			t.Errorf("request %d is about task %q", i, p.Task)
		}
	}
	if len(keys) != 3 {
		t.Errorf("keys %v, want three", keys)
	}
}

// What answers auth-required goes to the service and into no record.
func TestCredentials(t *testing.T) {
	s := serve(t, func(p *post) {
		if p.Type == "message" {
			p.json(`{"type":"authenticate","text":"a token, please","state":1}`)
			return
		}
		p.json(`{"text":"thanks"}`)
	})
	w := newWorld(t, nil, s.URL, nil)
	task := w.task("hello")
	wantOutcome(t, task, "auth_required a token, please")
	task = w.answer(task, "hush")
	wantOutcome(t, task, "completed thanks")
	if p := s.got()[1]; p.Text != "hush" || string(p.State) != "1" {
		t.Errorf("the service got %s", p.raw)
	}
	for _, m := range task.History {
		if strings.Contains(show(m.Parts), "hush") {
			t.Error("the credentials are in the history")
		}
	}
}

func TestNoMediaType(t *testing.T) {
	for body, want := range map[string]string{" {\"text\":\"a\"}": "a", "a {": "a {", "": ""} {
		if events, err := parseAnswer([]byte(body), ""); err != nil || events[0].Type != "reply" || show(events[0].Parts) != want {
			t.Errorf("%q: %v, %v", body, events, err)
		}
	}
}

func TestParseAnswerEndsOnce(t *testing.T) {
	for _, doc := range []string{`{"artifacts":[{"text":"a"},{"type":"ask","text":"b"}],"text":"c"}`, `{"type":"status"}`, `{"type":"log","text":"x"}`} {
		events, err := parseJSON([]byte(doc))
		if err != nil {
			t.Errorf("%s: %v", doc, err)
		}
		checkEnds(t, events)
	}
}

// checkEnds checks what the rest of the package relies on.
func checkEnds(t *testing.T, events []*event) {
	t.Helper()
	for i, ev := range events {
		if ev.ends() != (i == len(events)-1) {
			t.Errorf("event %d of %d is %q", i, len(events), ev.Type)
		}
		if ev.Text != nil {
			t.Errorf("event %d was not checked", i)
		}
	}
	if len(events) == 0 {
		t.Error("no events")
	}
}

func FuzzAnswer(f *testing.F) {
	for _, doc := range []string{
		`{"text":"hi"}`, `{"artifacts":[{"name":"a","parts":[{"raw":"aGk=","mediaType":"text/plain"}]}],"ask":{"text":"b","state":1}}`,
		`{"type":"artifact","text":"x","last":true,"append":false}`, `{"fail":null,"reject":"x","metadata":{"a":[1,2]}}`, `{"parts":[null]}`, "[", "",
		`{"text":"x","state":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
	} {
		f.Add([]byte(doc), "application/json")
	}
	f.Add([]byte("\xff\xfe"), "text/plain; charset=x")
	f.Add([]byte("GIF"), "image/gif")
	f.Fuzz(func(t *testing.T, doc []byte, media string) {
		events, err := parseAnswer(doc, media)
		if err != nil {
			if _, ok := errors.AsType[badAnswer](err); !ok {
				t.Fatalf("error %v", err)
			}
			return
		}
		checkEnds(t, events)
		for _, ev := range events {
			for _, p := range ev.Parts {
				if p == nil || p.Kind < a2a.PartText || p.Kind > a2a.PartData {
					t.Fatalf("part %+v", p)
				}
			}
		}
	})
}
