package dialect

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// openRequest opens a document as readRequest does.
func openRequest(doc string) (in *object, err error) {
	_, err = readRequest(formTS, []byte(doc), "params", func(o *object) any { in = o; return nil })
	return in, err
}

func TestObjectSaysWhatIsWrongAndWhere(t *testing.T) {
	o, err := openRequest(`{"a":{"list":[{"n":"7"},{"n":1.5,"s":5,"when":"x"},3]},"state":"no","role":9,"b":"?","m":[],"o":null}`)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int32
	o.object("a").each(func(e *object) {
		numbers = append(numbers, *e.int32("n"))
		e.text("s")
		e.time("when")
	}, "parts", "list")
	o.state("state")
	o.role("role")
	o.bytes("b")
	o.json("m")
	if o.object("o") != nil || o.has("o") || o.object("nothing").text("deep") != "" {
		t.Error("null and absent are not the same as nothing")
	}
	err = o.faults.err()
	var e *a2a.Error
	if !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams {
		t.Fatal(err)
	}
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Field)
	}
	if want := "a.list[1].n a.list[1].s a.list[1].when a.list[2] state role b m"; strings.Join(got, " ") != want {
		t.Errorf("faults %v, want %s", got, want)
	}
	if len(numbers) != 2 || numbers[0] != 7 {
		t.Errorf("numbers %v", numbers)
	}
}

func TestObjectReadsEverySpelling(t *testing.T) {
	o, err := openRequest(`{"history_length":3,"TASK":1,"state":5,"role":"ROLE_AGENT","raw":"_-8","when":"2025-04-02T16:59:25.331844"}`)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case *o.int32("historyLength") != 3, o.state("state") != a2a.TaskStateCanceled, o.role("role") != a2a.RoleAgent,
		string(o.bytes("raw")) != "\xff\xef", o.time("when").UnixMilli() != 1743613165331, o.faults.err() != nil:
		t.Errorf("%+v: %v", o.members, o.faults.err())
	}
}

func TestObjectLimits(t *testing.T) {
	deep := strings.Repeat(`{"a":`, a2a.MaxDepth) + `"}{[\"[["` + strings.Repeat("}", a2a.MaxDepth)
	if _, err := openRequest(deep); err != nil {
		t.Errorf("as deep as may be: %v", err)
	}
	if _, err := openRequest(`{"b":` + deep + `}`); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("too deep: %v", err)
	}
	for _, doc := range []string{`[]`, `5`, `"x"`, `null`} {
		if _, err := openRequest(doc); err == nil || !strings.Contains(err.Error(), "params: must be an object") {
			t.Errorf("%s: %v", doc, err)
		}
	}
}
