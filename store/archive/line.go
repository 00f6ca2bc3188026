package archive

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/store"
)

// An export is text, one JSON object a line:
//
//	{"parley":"export","version":1}
//	{"kept":{"name":…,"value":…}}
//	{"task":{"tenant":…,"owner":…,"id":…,…,"last":3},"seal":{"head":…,"body":…}}
//	{"blob":{"hash":…,"data":"base64"}}
//	{"receipt":{"name":…,"time":…,"until":…,"seq":1,"digest":…,"answer":…}}
//	{"push":{"id":…,"host":…,"created":…,"live":true,"cursor":2,…,"body":…}}
//	{"letter":{"push":…,"seq":1,"time":…,"tries":1,"again":false,"reason":…}}
//	{"entry":{"seq":1,"time":…,"kind":1,"body":…}}
//	…
//	{"end":{"tasks":1,"entries":3,"sha256":"…"}}
//
// The tasks are in the order of their keys, each followed by its blobs, its receipts, its
// push configs, each with its dead letters, and its log. A blob has its data the first time
// it occurs. Receipts without a task are left out: they are valid for a short time only, and
// their answers are nowhere else in the export. The package comment describes the fields.

// version rises when an older program could misread an export. A new kind of line does not
// require that, because an older program refuses it and the whole export with it. Only a new
// member of a known line would be lost silently.
const version = 1

// line is any line of an export. Members that hold bytes exist in two forms, which are only
// read here; lines.add writes them.
type line struct {
	Parley  string       `json:"parley"`
	Version int          `json:"version"`
	Kept    *keptLine    `json:"kept"`
	Task    *taskLine    `json:"task"`
	Seal    *sealLine    `json:"seal"`
	Blob    *blobLine    `json:"blob"`
	Receipt *receiptLine `json:"receipt"`
	Push    *pushLine    `json:"push"`
	Letter  *letterLine  `json:"letter"`
	Entry   *entryLine   `json:"entry"`
	End     *endLine     `json:"end"`
}

type (
	keptLine struct {
		Name    text            `json:"name"`
		Value   json.RawMessage `json:"value,omitzero"`
		Value64 []byte          `json:"value64,omitzero"`
	}
	taskLine struct {
		Tenant  text      `json:"tenant"`
		Owner   text      `json:"owner"`
		ID      text      `json:"id"`
		Context text      `json:"context"`
		State   int32     `json:"state"`
		Updated time.Time `json:"updated"`
		Created time.Time `json:"created"`
		Last    int64     `json:"last"`
		Active  bool      `json:"active"`
		Node    text      `json:"node"`
		Epoch   int64     `json:"epoch"`
		Lost    int32     `json:"lost"`
		Turn    int64     `json:"turn"`
		Attempt int32     `json:"attempt"`
	}
	sealLine struct {
		Head   json.RawMessage `json:"head,omitzero"`
		Head64 []byte          `json:"head64,omitzero"`
		Body   json.RawMessage `json:"body,omitzero"`
		Body64 []byte          `json:"body64,omitzero"`
	}
	blobLine struct {
		Hash text   `json:"hash"`
		Data []byte `json:"data,omitzero"` // nil: written before
	}
	receiptLine struct {
		Name     text            `json:"name"`
		Time     time.Time       `json:"time"`
		Until    time.Time       `json:"until"`
		Seq      int64           `json:"seq"`
		Digest   json.RawMessage `json:"digest,omitzero"`
		Digest64 []byte          `json:"digest64,omitzero"`
		Answer   json.RawMessage `json:"answer,omitzero"`
		Answer64 []byte          `json:"answer64,omitzero"`
	}
	pushLine struct {
		ID      text            `json:"id"`
		Host    text            `json:"host"`
		Created time.Time       `json:"created"`
		Live    bool            `json:"live"`
		Cursor  int64           `json:"cursor"`
		Tries   int32           `json:"tries"`
		Since   time.Time       `json:"since,omitzero"`
		Due     time.Time       `json:"due,omitzero"`
		Reason  text            `json:"reason"`
		Body    json.RawMessage `json:"body,omitzero"`
		Body64  []byte          `json:"body64,omitzero"`
	}
	letterLine struct {
		Push   text      `json:"push"`
		Seq    int64     `json:"seq"`
		Time   time.Time `json:"time"`
		Tries  int32     `json:"tries"`
		Again  bool      `json:"again"`
		Reason text      `json:"reason"`
	}
	entryLine struct {
		Seq    int64           `json:"seq"`
		Time   time.Time       `json:"time"`
		Kind   uint8           `json:"kind"`
		Body   json.RawMessage `json:"body,omitzero"`
		Body64 []byte          `json:"body64,omitzero"`
	}
	endLine struct {
		Tasks   int64  `json:"tasks"`
		Entries int64  `json:"entries"`
		SHA256  string `json:"sha256"`
	}
)

// lines is the text of an export being written, up to the first error.
type lines struct {
	text []byte
	err  error
}

// member is a member of an object whose value must be restored byte for byte.
type member struct {
	name  string
	value []byte
}

// task writes all of a task. data has the data of those of its blobs that were not written
// before.
func (l *lines) task(t *store.Task, data map[string][]byte) {
	r := &t.Row
	l.text = append(l.text, `{"task":`...)
	l.object(&taskLine{
		text(r.Tenant), text(r.Owner), text(r.ID), text(r.Context), r.State, r.Updated, r.Created, r.Last,
		r.Active, text(r.Node), r.Epoch, r.Lost, r.Turn, r.Attempt,
	})
	if t.Seal != nil {
		l.text = append(l.text, `,"seal":`...)
		l.object(&sealLine{}, member{"head", t.Seal.Head}, member{"body", t.Seal.Body})
	}
	l.text = append(l.text, "}\n"...)
	for _, b := range t.Blobs {
		l.add("blob", &blobLine{text(b.Hash), data[b.Hash]})
	}
	for i := range t.Receipts {
		r := &t.Receipts[i]
		l.add("receipt", &receiptLine{Name: text(r.Name), Time: r.Time, Until: r.Until, Seq: r.Seq},
			member{"digest", r.Digest}, member{"answer", r.Answer})
	}
	dead := map[string][]letterLine{}
	for i := range t.Letters {
		d := &t.Letters[i]
		dead[d.ID] = append(dead[d.ID], letterLine{text(d.ID), d.Seq, d.Time, d.Tries, d.Again, text(d.Reason)})
	}
	for i := range t.Pushes {
		p := &t.Pushes[i]
		l.add("push", &pushLine{
			ID: text(p.ID), Host: text(p.Host), Created: p.Created, Live: p.Live,
			Cursor: p.Cursor, Tries: p.Tries, Since: p.Since, Due: p.Due, Reason: text(p.Reason),
		}, member{"body", p.Body})
		for j := range dead[p.ID] {
			l.add("letter", &dead[p.ID][j])
		}
	}
	for i := range t.Log {
		e := &t.Log[i]
		l.add("entry", &entryLine{Seq: e.Seq, Time: e.Time, Kind: e.Kind}, member{"body", e.Body})
	}
}

// add adds a line of one kind.
func (l *lines) add(kind string, v any, members ...member) {
	l.text = append(append(append(l.text, `{"`...), kind...), `":`...)
	l.object(v, members...)
	l.text = append(l.text, "}\n"...)
}

// object adds v, followed by members. The members are not fields of v, because encoding/json
// would change their bytes.
func (l *lines) object(v any, members ...member) {
	b, err := json.Marshal(v)
	if err != nil {
		l.err = err
		return
	}
	l.text = append(l.text, b[:len(b)-1]...)
	for i, m := range members {
		if i > 0 || len(b) > len("{}") {
			l.text = append(l.text, ',')
		}
		l.text = append(append(l.text, '"'), m.name...)
		if plain(m.value) {
			l.text = append(append(l.text, `":`...), m.value...)
		} else {
			l.text = append(l.text, `64":"`...)
			l.text = append(base64.StdEncoding.AppendEncode(l.text, m.value), '"')
		}
	}
	l.text = append(l.text, '}')
}

// plain reports whether bytes are JSON that fits in a line and is read back unchanged.
func plain(b []byte) bool {
	return json.Valid(b) && fits(b) && utf8.Valid(b) && !bytes.ContainsAny(b, "\n\r") && len(bytes.TrimSpace(b)) == len(b)
}

// fits reports whether JSON can be read within a line, which nests it two levels deeper:
// encoding/json reads at most 10,000 levels.
func fits(b []byte) bool {
	return len(b) < 10_000 || json.Valid(slices.Concat([]byte("[["), b, []byte("]]")))
}

// either returns bytes that may be in one of two forms.
func either(plain json.RawMessage, encoded []byte) []byte {
	if plain != nil {
		return plain
	}
	return encoded
}

// task returns the task that a line begins, with its seal.
func (l *line) task() *store.Task {
	r := l.Task
	t := &store.Task{Record: store.Record{Row: store.Row{
		Key:     store.Key{Tenant: string(r.Tenant), Owner: string(r.Owner), ID: string(r.ID)},
		Context: string(r.Context), State: r.State, Updated: store.Milli(r.Updated), Created: store.Milli(r.Created), Last: r.Last,
		Active: r.Active, Node: string(r.Node), Epoch: r.Epoch, Lost: r.Lost, Turn: r.Turn, Attempt: r.Attempt,
	}}}
	if s := l.Seal; s != nil {
		t.Seal = &store.Seal{Head: either(s.Head, s.Head64), Body: either(s.Body, s.Body64)}
	}
	return t
}

func (l *receiptLine) receipt() store.Receipt {
	return store.Receipt{
		Name: string(l.Name), Time: store.Milli(l.Time), Until: store.Milli(l.Until), Seq: l.Seq,
		Digest: either(l.Digest, l.Digest64), Answer: either(l.Answer, l.Answer64),
	}
}

// push returns the config to import. It has no node, so that the next server delivers it.
func (l *pushLine) push(k store.Key) store.PushConfig {
	return store.PushConfig{
		Key: k, ID: string(l.ID), Host: string(l.Host), Body: either(l.Body, l.Body64), Created: store.Milli(l.Created), Live: l.Live,
		Progress: store.Progress{Cursor: l.Cursor, Tries: l.Tries, Since: l.Since, Due: l.Due, Reason: string(l.Reason)},
	}
}

func (l *letterLine) letter(k store.Key) store.DeadLetter {
	return store.DeadLetter{
		PushID: store.PushID{Key: k, ID: string(l.Push)}, Seq: l.Seq, Time: store.Milli(l.Time), Tries: l.Tries, Reason: string(l.Reason), Again: l.Again,
	}
}

func (l *entryLine) entry() store.Entry {
	return store.Entry{Seq: l.Seq, Time: store.Milli(l.Time), Kind: l.Kind, Body: either(l.Body, l.Body64)}
}

// text is a string that may not be UTF-8; then it is encoded as {"base64":…}.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(t)})
}

func (t *text) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var v struct {
			Base64 []byte `json:"base64"`
		}
		err := json.Unmarshal(b, &v)
		*t = text(v.Base64)
		return err
	}
	var s string
	err := json.Unmarshal(b, &s)
	*t = text(s)
	return err
}
