package httpagent

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
)

func TestTemplate(t *testing.T) {
	values := map[string]string{"text": "say \"hi\"\n\u2028 & ${task} \xff", "task": "t-1", "subject": "ann", "tenant": "", "skill": "forecast", "arguments": `{"city":"Paris"}`}
	for s, want := range map[string]string{
		`{"prompt": "${text}"}`:               "{\"prompt\": \"say \\\"hi\\\"\\n\u2028 & ${task} \ufffd\"}",
		` ["${task}: ${subject}", 1] `:        `["t-1: ann", 1]`,
		`"${task}"`:                           `"t-1"`,
		`{"s":"${skill}","a":"${arguments}"}`: `{"s":"forecast","a":"{\"city\":\"Paris\"}"}`,
		`{"$${text}":"$$${task} a$b"}`:        `{"${text}":"$${task} a$b"}`,
		`prompt=${task}&user=${tenant}&x=`:    "prompt=t-1&user=&x=",
		`a%26b=100%25+${subject}`:             "a%26b=100%25+ann",
		`q=${text}`:                           "q=" + url.QueryEscape(values["text"]),
	} {
		tpl, err := parseTemplate(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if got := string(tpl.body(values)); got != want {
			t.Errorf("%s: got %s, want %s", s, got, want)
		}
	}
	for s, want := range map[string]string{
		"":                                     "must not be empty: expected JSON such as",
		`{"prompt": ${text}}`:                  "must be JSON with ${…} inside of strings",
		`{"prompt": "${text}"`:                 "must be JSON with ${…} inside of strings",
		`{"prompt": "${txt}"}`:                 "${txt} is not known: expected one of ${text}, ${task}, ${context}, ${message}, ${subject}, ${tenant}, ${skill}, ${arguments}, or $${ for ${ itself",
		`{"prompt": "${env:KEY}"}`:             "${env:KEY} is not known",
		`{"prompt": "${text"}`:                 "is not known",
		"hello":                                `"hello" must be name=value`,
		"a=b&":                                 `"" must be name=value`,
		"${text}=b":                            `"${text}" cannot be the name`,
		"a=%zz":                                `the value of "a" must be encoded as in URLs`,
		"\xff":                                 "must be UTF-8",
		strings.Repeat("x", maxTemplate) + "=": "must have at most 65536 bytes, not 65537",
	} {
		if err := CheckBody(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", s, err, want)
		}
	}
}

func TestPath(t *testing.T) {
	const doc = `{"reply":"hi","n":1.50,"yes":true,"no":null,"choices":[{"delta":{"content":"a\u00e9"}},{}],"more":{"a":[1]}}`
	for s, want := range map[string]string{
		".reply": "hi", ".n": "1.50", ".yes": "true", ".choices[0].delta.content": "aé", ".more": `data({"a":[1]})`, ".more.a[0]": "1",
		".no": "", ".missing": "", ".choices[1].delta.content": "", ".choices[9]": "", ".reply.x": "", "[0]": "", ".choices.x": "",
		".no | .reply": "hi", ".reply|.n": "hi", "text": doc,
	} {
		p, err := parsePath(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		part, err := p.find([]byte(doc))
		got := ""
		if part != nil {
			if got = part.Text; part.Data != nil {
				got = "data(" + string(part.Data) + ")"
			}
		}
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", s, got, err, want)
		}
	}
	for _, s := range []string{"", " ", "reply", ".", "..a", ".a.", ".a b", ".a[", ".a[]", ".a[-1]", ".a[x]", ".a[99999]", ".a |", "|", ".ä", "." + strings.Repeat("x", maxPath)} {
		if err := CheckAnswer(s); err == nil || !strings.Contains(err.Error(), "expected a path such as") && len(s) < maxPath {
			t.Errorf("%.40q: %v", s, err)
		}
	}
	for _, doc := range []string{"", "{", "hello", `{"reply":"x"} y`, `{"reply":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}"} {
		p, _ := parsePath(".reply")
		if _, err := p.find([]byte(doc)); err == nil {
			t.Errorf("%.20q is read", doc)
		}
	}
}

// Whatever a template is, and whatever comes into it, the body is what it says: JSON
// with the same members, or a form with the same fields.
func FuzzTemplate(f *testing.F) {
	f.Add(`{"a":"${text}","b":["x${task}"]}`, "\"\\\n\x00")
	f.Add(`a=${text}&b=%20$${text}`, "&=%")
	f.Add(`{"$${":"${text}${text}"}`, "${text}")
	f.Fuzz(func(t *testing.T, s, text string) {
		tpl, err := parseTemplate(s)
		if err != nil {
			return
		}
		value := strings.ToValidUTF8(text, "\ufffd")
		body := tpl.body(map[string]string{"text": text})
		if tpl.json == nil {
			got, err := url.ParseQuery(string(body))
			if err != nil {
				t.Fatalf("%q: %q: %v", s, body, err)
			}
			n := 0
			for _, list := range got {
				n += len(list)
			}
			if n != len(tpl.pairs) {
				t.Fatalf("%q: %q has %d fields", s, body, n)
			}
			return
		}
		var was, is any
		if err := json.Unmarshal([]byte(strings.TrimSpace(s)), &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(body, &is); err != nil {
			t.Fatalf("%q: %q: %v", s, body, err)
		}
		same(t, was, is, value)
	})
}

// same compares a template's JSON with what was made of it.
func same(t *testing.T, was, is any, text string) {
	switch was := was.(type) {
	case string:
		if got, ok := is.(string); !ok || was == "${text}" && got != text {
			t.Fatalf("%q became %q", was, is)
		}
	case []any:
		list, ok := is.([]any)
		if !ok || len(list) != len(was) {
			t.Fatalf("%v became %v", was, is)
		}
		for i := range was {
			same(t, was[i], list[i], text)
		}
	case map[string]any:
		if _, ok := is.(map[string]any); !ok {
			t.Fatalf("%v became %v", was, is)
		}
	default:
		if was != is {
			t.Fatalf("%v became %v", was, is)
		}
	}
}

// FuzzPath: no path and no answer is more than an answer or an error.
func FuzzPath(f *testing.F) {
	f.Add(".a[0].b | .c", `{"a":[{"b":"x"}]}`)
	f.Add("text", "x")
	f.Add("[1]", `[1,"\ud800"]`)
	f.Fuzz(func(t *testing.T, s, doc string) {
		p, err := parsePath(s)
		if err != nil {
			return
		}
		part, err := p.find([]byte(doc))
		if err != nil {
			if _, ok := errors.AsType[badAnswer](err); !ok {
				t.Fatal(err)
			}
			return
		}
		if part != nil {
			ev := &event{Type: "reply"}
			ev.Parts = append(ev.Parts, part)
			if err := ev.check(); err != nil {
				if _, ok := errors.AsType[badAnswer](err); !ok {
					t.Fatal(err)
				}
			}
		}
	})
}
