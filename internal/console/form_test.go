package console

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/parley-a2a/parley/a2a"
)

const booking = `{"elicitation":{"mode":"form","message":"Which <room>?","requestedSchema":{"type":"object","required":["room","people"],"properties":{
	"note":{"type":"string","title":"A \"note\"","maxLength":80},
	"room":{"type":"string","enum":["blue","green"],"enumNames":["Blue <b>","Green"],"default":"green"},
	"people":{"type":"integer","minimum":1,"maximum":20,"description":"How many"},
	"share":{"type":"number"},
	"day":{"type":"string","format":"date"},
	"mail":{"type":"string","format":"email"},
	"coffee":{"type":"boolean","default":true},
	"days":{"type":"array","items":{"type":"string","enum":["mon","tue"]},"default":["tue"]},
	"size":{"oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}}}}}`

func asks(text, data string) *a2a.Message {
	return &a2a.Message{MessageID: "m", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(text), a2a.DataPart(a2a.JSON(data))}}
}

func TestAFormOfASchema(t *testing.T) {
	q := questionOf(asks("The answer does not fit.\n\nWhich <room>?\n\nroom (blue | green)", booking))
	if q == nil {
		t.Fatal("there is no form")
	}
	if q.Message != "Which <room>?" || q.Problem != "The answer does not fit." {
		t.Errorf("it says %q after %q", q.Message, q.Problem)
	}
	var got strings.Builder
	for _, f := range q.Fields {
		fmt.Fprintf(&got, "%s %s %s required=%v [%s..%s] %v\n", f.Name, f.Kind, f.Value, f.Required, f.Min, f.Max, f.Choices)
	}
	const want = `room select green required=true [..] [{blue Blue <b> false} {green Green true}]
people number  required=true [1..20] []
note text  required=false [..80] []
share number  required=false [..] []
day date  required=false [..] []
mail email  required=false [..] []
coffee check true required=false [..] []
days several ["tue"] required=false [..] [{mon mon false} {tue tue true}]
size select  required=false [..] [{s Small false} {l Large false}]
`
	if got.String() != want {
		t.Errorf("the fields are\n%swant\n%s", got.String(), want)
	}
	page := execute("asks", block{ID: "b", Class: "asks", Form: q, Task: "/t", CSRF: "c"})
	for _, want := range []string{"Which &lt;room&gt;?", `action="/t/answer"`, `value="green" selected`, "Blue &lt;b&gt;", `value="tue" checked`, `maxlength="80"`, `aria-describedby="bf1-about"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the form lacks %s:\n%s", want, page)
		}
	}
	if _, err := html.Parse(strings.NewReader(page)); err != nil {
		t.Error(err)
	}
	if page := execute("asks", block{ID: "b", Class: "asks", Form: q, Task: "/t", CSRF: "c", Answered: true}); strings.Contains(page, "<form") {
		t.Errorf("an answered question still has a form:\n%s", page)
	}
}

func TestTheAnswerOfAForm(t *testing.T) {
	q := questionOf(asks("", booking))
	filled := url.Values{"f.room": {"blue"}, "f.people": {"4"}, "f.share": {"0.5"}, "f.note": {""}, "f.days": {"mon", "tue"}}
	for _, tt := range []struct {
		set  func(url.Values)
		want string
	}{
		{func(url.Values) {}, `{"action":"accept","content":{"coffee":false,"days":["mon","tue"],"people":4,"room":"blue","share":0.5}}`},
		{func(v url.Values) { v.Set("action", "decline") }, `{"action":"decline"}`},
		{func(v url.Values) { v.Set("f.coffee", "true"); v.Del("f.days") }, `{"action":"accept","content":{"coffee":true,"people":4,"room":"blue","share":0.5}}`},
		{func(v url.Values) { v.Set("f.people", "many") }, `people: must be a number, not "many"`},
		{func(v url.Values) { v.Set("f.room", " ") }, `room: is missing`},
	} {
		v := url.Values{}
		for name, list := range filled {
			v[name] = list
		}
		tt.set(v)
		got := ""
		if p, err := q.answerOf(v); err != nil {
			got = err.Error()
		} else {
			got = string(p.Data)
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%v is %s, want %s", v, got, tt.want)
		}
	}
}

// Schemas that no form can be made of are shown as what they are.
func TestNoForm(t *testing.T) {
	for _, doc := range []string{
		`{}`, `[1]`, `{"elicitation":7}`, `{"elicitation":{"requestedSchema":{"properties":{"a":{"type":"object"}}}}}`,
		`{"elicitation":{"requestedSchema":{"properties":{"a":{"type":"array"}}}}}`, `{"elicitation":{"url":"javascript:alert(1)"}}`,
		`{"elicitation":{"requestedSchema":{"properties":{"a":7}}}}`,
	} {
		if q := questionOf(asks("", doc)); q != nil {
			t.Errorf("%s is the form %+v", doc, q)
		}
	}
	if q := questionOf(asks("", `{"elicitation":{"message":"Go","url":"https://example.org/a"}}`)); q == nil || q.Link == "" {
		t.Errorf("a place to go to is %+v", q)
	}
}

func FuzzQuestion(f *testing.F) {
	f.Add(booking)
	f.Add(`{"elicitation":{"requestedSchema":{"properties":{"a":{"enum":[1,null,{"b":2}]}}}}}`)
	f.Fuzz(func(t *testing.T, doc string) {
		q := questionOf(asks("x", doc))
		if q == nil {
			return
		}
		page := execute("asks", block{ID: "b", Class: "asks", Form: q, Task: "/t", CSRF: "c"})
		if strings.Contains(page, "<script") {
			t.Errorf("%s becomes\n%s", doc, page)
		}
		_, _ = q.answerOf(url.Values{"f.a": {"1"}})
	})
}
