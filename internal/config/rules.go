package config

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// rules reports mistakes that involve several values.
func (r *reader) rules(tree *value) {
	r.serverRules(tree)
	named := tree.member("agents")
	if named == nil || named.field == nil || named.field.kind != dict || named.bad {
		return
	}
	if len(named.members) == 0 {
		r.bad(named, "must not be empty: agents are listed by their names")
	}
	var first *member // the first default agent
	for _, m := range named.members {
		if !agentName(m.name) {
			r.wrong.add(m.line, m.column, join("agents", m.name), "the name of an agent must be a word of a-z, 0-9 and -, of 63 characters at most")
		}
		r.agentRules(m)
		if d := m.value.member("default"); d.yes() && !d.bad {
			if first != nil {
				r.bad(d, "only one agent can be at /, and %s is (line %d)", first.name, first.line)
				continue
			}
			first = &member{name: m.name, line: d.line}
		}
	}
}

func agentName(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-'
}

// needs reports a setting that has no effect without another one, which may be a flag on the
// command line.
func (r *reader) needs(tree *value, path, other, why string) {
	v, o := tree.at(path), fieldAt(other)
	if v == nil || v.bad || v.field.kind == boolean && !v.yes() || tree.at(other) != nil {
		return
	}
	given := o.flag != "" && r.options.given(o.flag)
	for _, c := range o.fields {
		given = given || c.flag != "" && r.options.given(c.flag)
	}
	if !given {
		r.bad(v, "needs %s: %s", other, why)
	}
}

// excludes reports two settings that contradict each other, at the later one.
func (r *reader) excludes(a, b *value, why string) {
	if a == nil || b == nil || a.bad || b.bad {
		return
	}
	if b.line < a.line || b.line == a.line && b.column < a.column {
		a, b = b, a
	}
	r.bad(b, "%s (line %d) and this exclude each other: %s", a.path, a.line, why)
}

// fieldAt returns the field of the server's part at a path.
func fieldAt(path string) *field {
	f := root
	for name := range strings.SplitSeq(path, ".") {
		f = f.child(name)
	}
	return f
}

func (r *reader) serverRules(tree *value) {
	yes := func(path string) *value {
		if v := tree.at(path); v.yes() {
			return v
		}
		return nil
	}
	ephemeral, store := yes("store.ephemeral"), tree.at("store.address")
	const keepsNothing = "memory keeps nothing, and says where to keep nothing"
	switch {
	case store.is("memory"):
		r.excludes(store, tree.at("store.data"), keepsNothing)
		r.excludes(store, yes("auth.keys"), "API keys are kept where tasks are")
	case store != nil && !store.bad && !strings.Contains(store.text, "://") && store.text != "elsewhere":
		r.excludes(store, tree.at("store.data"), "one names a file, the other a directory for it")
	}
	if !store.is("memory") {
		r.excludes(ephemeral, store, "one keeps nothing, the other says where to keep it")
	}
	r.excludes(ephemeral, tree.at("store.data"), "one keeps nothing, the other says where to keep it")
	r.excludes(ephemeral, yes("auth.keys"), "API keys are kept where tasks are")

	r.needs(tree, "auth.certificates", "tls", "without TLS there are no client certificates")
	r.needs(tree, "auth.claims.scope_prefix", "auth.claims.scopes", "it is cut off these")
	r.needs(tree, "auth.claims.roles", "auth.roles", "they say what a role may do")
	r.needs(tree, "auth.roles", "auth.claims.roles", "it says which roles a caller has")
	if claims := tree.at("auth.claims"); claims != nil && tree.at("auth.oidc") == nil {
		r.needs(tree, "auth.claims", "auth.jwt", "claims are read from tokens, which auth.jwt or auth.oidc accepts")
	}
	r.needs(tree, "cards.keys", "public_url", "a signed card says where the agent is, and must not take that from a request")
	r.needs(tree, "cards.keys_url", "cards.keys", "only signed cards name it")
	r.needs(tree, "cards.strict", "cards.keys", "it is about signatures")
	if w := tree.at("retries.window"); w != nil && !w.bad && w.parsed == time.Duration(0) {
		r.excludes(w, yes("retries.anonymous"), "no message is remembered")
	}
	if push := tree.at("push.enabled"); push != nil && !push.yes() {
		for _, name := range []string{"allow", "deny", "proxy"} {
			r.excludes(push, tree.at("push."+name), "no webhook is sent")
		}
		if named := tree.member("agents"); named != nil {
			for _, m := range named.members {
				if offers := m.value.at("card.push_notifications"); offers.yes() {
					r.excludes(push, offers, "no webhook is sent")
				}
			}
		}
	}
	r.lostRules(tree)
}

// lostRules checks on_lost and max_runs, of the server or an agent.
func (r *reader) lostRules(v *value) {
	if lost := v.member("on_lost"); lost.is("fail") {
		r.excludes(lost, v.member("max_runs"), "nothing is run again")
	}
}

func (r *reader) agentRules(m *member) {
	a := m.value
	if a.field.kind != object || a.bad && a.members == nil {
		return
	}
	var made []*member
	for _, c := range a.members {
		if slices.Contains(kinds, c.name) {
			made = append(made, c)
		}
	}
	switch {
	case len(made) == 0:
		r.wrong.add(m.line, m.column, a.path, "needs one of %s", strings.Join(kinds, ", "))
	case len(made) > 1 && made[1].line > 0:
		r.wrong.add(made[1].line, made[1].column, join(a.path, made[1].name), "an agent has one of these, and there is %s (line %d)", made[0].name, made[0].line)
	}
	r.lostRules(a)
	exec := a.member("exec")
	r.variables(exec.member("env"))
	if p := exec.member("processes"); p != nil && !p.bad && p.parsed != int64(0) && !exec.member("mode").is("lines") {
		r.bad(p, "needs mode: lines, for plain processes end with their message")
	}
	r.runs(exec)
	r.only(a.at("http.callback_url"), a.at("http.callbacks"), "callbacks: true")
	if on := a.at("http.callbacks"); on.yes() {
		r.excludes(a.at("http.body"), on, "a body of the service's own format has no address to call back")
	}
	r.only(a.at("proxy.push_url"), a.at("proxy.push"), "push: true")
	r.excludes(a.at("openai.system"), a.at("openai.system_file"), "there is one system prompt")
	r.mcpRules(a.member("mcp"))
	if tools := a.at("openai.tools"); tools != nil {
		names := map[string]int{}
		for _, tool := range tools.items {
			r.mcpRules(tool)
			r.once(tool.member("name"), names)
		}
	}
	for _, kind := range kinds {
		r.headers(a.at(kind + ".headers"))
	}
	r.cardRules(a.member("card"))
}

// runs checks whether the command of an agent or an MCP server can run.
func (r *reader) runs(v *value) {
	command, dir := v.member("command"), v.member("dir")
	if command == nil || command.bad || len(command.items) == 0 || dir != nil && dir.bad {
		return
	}
	name, in := command.items[0], r.dir
	if dir != nil {
		in = dir.text
	}
	if name.bad || r.options.Command == nil || r.options.Elsewhere {
		return
	}
	if in == "." {
		in = ""
	}
	switch err := r.options.Command(name.text, in, v.at("env.PATH") != nil); {
	case err == nil:
	case name.source != "":
		r.bad(name, "the command %s cannot be run: it is not there, or not a program", name.quoted(40))
	case dir != nil && dir.source != "":
		r.bad(name, "the command %s cannot be run in the directory %s", name.quoted(40), dir.quoted(40))
	default:
		r.bad(name, "%v", err)
	}
}

// only reports a value that has no effect unless another one is true.
func (r *reader) only(v, on *value, what string) {
	if v != nil && !v.bad && (on == nil || !on.bad && !on.yes()) {
		r.bad(v, "means nothing without %s", what)
	}
}

// once reports a name that occurs twice in a list.
func (r *reader) once(v *value, lines map[string]int) {
	if v == nil || v.bad {
		return
	}
	if line, twice := lines[v.text]; twice {
		r.bad(v, "%s is taken: it is in line %d, too", v.quoted(40), line)
		return
	}
	lines[v.text] = v.line
}

func (r *reader) mcpRules(v *value) {
	if v == nil || v.bad || v.field.kind != object {
		return
	}
	command, url := v.member("command"), v.member("url")
	if command == nil && url == nil {
		r.bad(v, "must have command or url")
		return
	}
	r.excludes(command, url, "a server is a program or somewhere else")
	r.runs(v)
	unused, why := []string{"headers", "egress"}, "is for a server with a url, and this one has a command"
	if command == nil {
		unused, why = []string{"env", "dir"}, "is for a server with a command, and this one has a url"
	}
	for _, name := range unused {
		if c := v.member(name); c != nil && !c.bad && (command == nil || url == nil) {
			r.bad(c, "%s", why)
		}
	}
	r.headers(v.member("headers"))
	r.variables(v.member("env"))
}

// variables reports invalid names of environment variables.
func (r *reader) variables(v *value) {
	if v == nil {
		return
	}
	for _, m := range v.members {
		if m.name == "" || strings.ContainsAny(m.name, "=\x00") {
			r.wrong.add(m.line, m.column, join(v.path, m.name), "is not the name of a variable")
		}
	}
}

// headers reports headers that cannot be sent.
func (r *reader) headers(v *value) {
	if v == nil {
		return
	}
	for _, m := range v.members {
		switch {
		case m.name == "" || strings.Trim(m.name, tokenChars) != "":
			r.wrong.add(m.line, m.column, join(v.path, m.name), "is not the name of a header")
		case slices.Contains(framing, http.CanonicalHeaderKey(m.name)):
			r.wrong.add(m.line, m.column, join(v.path, m.name), "is set by the connection itself")
		case strings.ContainsFunc(m.value.text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
			r.bad(m.value, "has control characters in it, which no header can have")
		}
	}
}

const tokenChars = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// framing are headers that belong to the message itself: set by hand they would break it, or
// smuggle another one in.
var framing = []string{
	"Connection", "Content-Length", "Content-Type", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func (r *reader) cardRules(card *value) {
	if card == nil || card.bad {
		return
	}
	name, site := card.member("organization"), card.member("organization_url")
	switch {
	case name != nil && site == nil:
		r.bad(name, "needs organization_url: a provider has both")
	case name == nil && site != nil:
		r.bad(site, "needs organization: a provider has both")
	}
	if skills := card.member("skills"); skills != nil {
		ids := map[string]int{}
		for _, skill := range skills.items {
			r.once(skill.member("id"), ids)
		}
	}
	for _, name := range []string{"input_modes", "output_modes"} {
		r.modes(card.member(name))
	}
}

// modes reports invalid media types.
func (r *reader) modes(v *value) {
	if v == nil {
		return
	}
	for _, item := range v.items {
		if kind, sub, ok := strings.Cut(item.text, "/"); !item.bad && (!ok || kind == "" || sub == "" || strings.ContainsAny(item.text, " \t")) {
			r.bad(item, "must be a media type such as text/plain%s", item.butSays())
		}
	}
}
