package openai_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
)

const person = `{"title":"A person!","type":"object","properties":{"name":{"type":"string"}}}`

func TestAnswersInJSON(t *testing.T) {
	for name, tt := range map[string]struct {
		modes   []string
		meta    string
		refuse  string
		text    string // the model's
		state   a2a.TaskState
		answer  string
		words   string
		asked   string // response_format
		isValue bool
	}{
		"text":                {nil, "", "", "hi", a2a.TaskStateCompleted, "hi", "", "<nil>", false},
		"text first":          {[]string{"text/plain", "application/json"}, "", "", "hi", a2a.TaskStateCompleted, "hi", "", "<nil>", false},
		"an object":           {[]string{"application/json"}, "", "", `{"a":1}`, a2a.TaskStateCompleted, `{"a":1}`, "", "map[type:json_object]", true},
		"JSON first":          {[]string{"application/json", "text/plain"}, "", "", `{"a":1}`, a2a.TaskStateCompleted, `{"a":1}`, "", "map[type:json_object]", true},
		"in Markdown":         {[]string{"application/json"}, "", "", "```json\n{\"a\":1}\n```\n", a2a.TaskStateCompleted, `{"a":1}`, "", "map[type:json_object]", true},
		"a schema":            {[]string{"application/json"}, `{"schema":` + person + `}`, "", `{"name":"Ann"}`, a2a.TaskStateCompleted, `{"name":"Ann"}`, "", "map[json_schema:map[name:A_person_ schema:map[properties:map[name:map[type:string]] title:A person! type:object]] type:json_schema]", true},
		"a schema, not known": {[]string{"application/json"}, `{"schema":` + person + `}`, "json_schema", `{"name":"Ann"}`, a2a.TaskStateCompleted, `{"name":"Ann"}`, "", "map[type:json_object]", true},
		"an object, unknown":  {[]string{"application/json"}, "", "json_object", `{"a":1}`, a2a.TaskStateCompleted, `{"a":1}`, "", "<nil>", true},
		"too deep":            {[]string{"application/json"}, "", "", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), a2a.TaskStateFailed, "", "did not answer with JSON", "map[type:json_object]", false},
		"not JSON":            {[]string{"application/json"}, "", "", "sorry", a2a.TaskStateFailed, "", "did not answer with JSON", "map[type:json_object]", false},
		"no schema":           {[]string{"application/json"}, `{"schema":"person"}`, "", "", a2a.TaskStateRejected, "", "must be a JSON Schema", "", false},
		"too large":           {[]string{"application/json"}, `{"schema":{"x":"` + strings.Repeat("x", 70_000) + `"}}`, "", "", a2a.TaskStateRejected, "", "too large", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := openaitest.New(openaitest.Text(strings.SplitAfter(tt.text, ":")...))
				fake.Refuse = []string{tt.refuse}
				w := newWorld(t, fake, nil)
				req := request(a2a.TextPart("who?"))
				req.Configuration.AcceptedOutputModes = tt.modes
				req.Message.Metadata = a2a.JSON(tt.meta)
				task := w.send(req)
				want(t, task, tt.state, tt.answer, tt.words)
				if tt.isValue {
					if p := task.Artifacts[0].Parts; len(p) != 1 || p[0].Kind != a2a.PartData || p[0].MediaType != "application/json" {
						t.Errorf("got %s", task.AppendJSON(nil))
					}
				}
				if tt.asked == "" {
					return
				}
				if got := fmt.Sprint(fake.Requests()[0].Body["response_format"]); got != tt.asked {
					t.Errorf("asked for %s", got)
				}
			})
		})
	}
}

// A caller's schema may be in the metadata of the request, too.
func TestSchemaOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := openaitest.New(openaitest.Text(`{"name":"Ann"}`))
		w := newWorld(t, fake, nil)
		req := request(a2a.TextPart("who?"))
		req.Configuration.AcceptedOutputModes = []string{"application/json"}
		req.Metadata = a2a.JSON(`{"schema":{"type":"object"}}`)
		want(t, w.send(req), a2a.TaskStateCompleted, `{"name":"Ann"}`, "")
		if got := fmt.Sprint(fake.Requests()[0].Body["response_format"]); got != "map[json_schema:map[name:answer schema:map[type:object]] type:json_schema]" {
			t.Errorf("asked for %s", got)
		}
	})
}

func TestWhatNewRefuses(t *testing.T) {
	for name, err := range map[string]error{
		"no URL":        second(openai.New("localhost:11434", "m", nil)),
		"credentials":   second(openai.New("http://u:p@host/v1", "m", nil)),
		"no model":      second(openai.New("http://host/v1", "", nil)),
		"messages":      second(openai.New("http://host/v1", "m", &openai.Options{Extra: map[string]any{"messages": 1}})),
		"no JSON":       second(openai.New("http://host/v1", "m", &openai.Options{Extra: map[string]any{"seed": math.NaN()}})),
		"a header":      second(openai.New("http://host/v1", "m", &openai.Options{Headers: map[string]a2a.Secret{"A B": "x"}})),
		"a line break":  second(openai.New("http://host/v1", "m", &openai.Options{APIKey: "a\nb"})),
		"another value": second(openai.New("http://host/v1", "m", &openai.Options{Headers: map[string]a2a.Secret{"A": "x\n"}})),
	} {
		if err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second(_ any, err error) error { return err }

func TestExtraMembersAndAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := openaitest.New()
		temperature := 0.5
		o := &openai.Options{Client: fake.Client(), Temperature: &temperature, Extra: map[string]any{"seed": 7, "temperature": 1}}
		w := newWorld(t, fake, o)
		w.say("hello")
		r := fake.Requests()[0]
		if r.Body["seed"] != 7.0 || r.Body["temperature"] != 1.0 || r.Body["model"] != "fake-1" {
			t.Errorf("sent %v", r.Body)
		}
	})
}
