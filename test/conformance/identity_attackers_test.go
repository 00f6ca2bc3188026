package conformance

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
)

// attacker is somebody who tries.
type attacker struct {
	name    string
	shows   proof
	of      *victim
	refused bool // at the door
	alone   bool // others share what it has, and must not move meanwhile
	names   tenancy

	// Through each door each attacker asks for each operation. Those that are
	// not thorough take turns with the requests for it, and those that are
	// refused with the doors, too.
	thorough bool
	turn     int
}

// tenancy is which tenant the requests name.
type tenancy int

const (
	none         tenancy = iota
	theirs               // the victim's
	theirsOrNone         // the victim's with its names, and with others one that is not there
)

// who returns everybody who tries. Each has a name of its own, but those who
// have none.
func who(at *office, victims []*victim, anonymous bool) (all []attacker) {
	for _, v := range victims {
		tenant := v.caller.Tenant
		add := func(name string, shows proof, names tenancy) *attacker {
			all = append(all, attacker{name: name, of: v, shows: shows, names: names, turn: len(all)})
			return &all[len(all)-1]
		}
		bob := func() string { return "bob-" + uuid.NewString() }
		elsewhere := func() string { return "tenant-" + uuid.NewString() }
		operator := append(slices.Clone(a2a.OwnScopes), a2a.ScopeTasksReadTenant, a2a.ScopeTasksCancelTenant)

		// Another owner, in the same tenant or in none.
		add("another owner", at.key(bob(), tenant), none).thorough = anonymous == (tenant == "")
		add("another owner by a token", at.token(bob(), tenant), none)
		add("another owner in no tenant", at.key(bob(), ""), none)
		add("another owner who names the tenant", at.token(bob(), ""), theirs)
		add("another owner who names this tenant or one that is not there", at.key(bob(), ""), theirsOrNone)
		add("the same name with a password", login(v.name, password), none)
		add("who may only read", at.key(bob(), tenant, a2a.ScopeTasksRead, a2a.ScopePushRead), none)
		add("who may nothing", at.key(bob(), tenant, "nothing"), none)
		add("who may do all but with tasks", at.key(bob(), tenant, a2a.ScopeCardRead, a2a.ScopePushRead, a2a.ScopePushWrite), none)
		add("through a proxy that says it is the owner", at.key(bob(), tenant).with(
			"X-Forwarded-User", v.caller.Subject, "X-Remote-User", v.caller.Subject, "X-Forwarded-Prefix", "/"+v.mine.tenant, "X-Tenant-Id", v.mine.tenant,
			"X-HTTP-Method-Override", "DELETE", "X-Original-URL", "/"+v.mine.tenant+"/tasks", "X-Forwarded-Client-Cert", "Subject=\"CN="+v.name+"\""), none)
		if !anonymous && tenant != "" {
			add("the same name with a certificate", at.certificate(v.name, tenant), none)
			add("the same name with a certificate of another tenant", at.certificate(v.name, elsewhere()), none)
			add("with a certificate and a key of somebody", at.key(bob(), tenant).of(at.certificate(v.name, tenant)), none)
			add("with a certificate that names no tenant", at.certificate(v.name, ""), none).refused = true
		}

		// The owner itself, at another agent.
		add("the owner at another agent", v.shows.to("/agents/valet"), none).thorough = anonymous != (tenant == "")
		add("the owner at a third agent who names the tenant", v.shows.to("/agents/porter"), theirs)
		add("another owner at another agent", at.key(bob(), tenant).to("/agents/valet"), none)

		// The same name in another tenant.
		if tenant != "" {
			add("the same name in no tenant", at.key(v.name, ""), none)
			add("an operator of no tenant who names this one", at.key(bob(), "", operator...), theirs)
		} else {
			add("the same token in a tenant", at.token(v.name, elsewhere()), none)
		}
		add("the same name in another tenant", at.key(v.name, elsewhere()), none)
		add("the same name in another tenant who names this one", at.key(v.name, elsewhere()), theirs)
		add("an operator of another tenant", at.key(bob(), elsewhere(), operator...), none)
		add("an operator of another tenant who names this one", at.key(bob(), elsewhere(), operator...), theirs)

		// Nobody.
		for _, names := range []tenancy{none, theirs} {
			a := add([]string{"anonymous", "anonymous who names the tenant"}[names], proof{}, names)
			a.refused, a.alone, a.thorough = !anonymous, anonymous, anonymous && names == none && tenant == ""
		}

		// Credentials that were good once, or never.
		hour := time.Now().Add(-time.Hour).Unix()
		for name, shows := range map[string]proof{
			"a revoked key":                  at.revoked(v.name, tenant),
			"an expired key":                 at.expired(v.name, tenant),
			"a key that was replaced":        at.replaced(v.name, tenant),
			"a key that never was":           bearer("parley_" + "aaaaaaaaaa_" + "0000000000000000000000000000000000000000000000000"),
			"an expired token":               at.token(v.name, tenant, "exp", hour),
			"a token of tomorrow":            at.token(v.name, tenant, "nbf", time.Now().Add(24*time.Hour).Unix()),
			"a token for another audience":   at.token(v.name, tenant, "aud", "another"),
			"a token of another issuer":      at.token(v.name, tenant, "iss", "https://elsewhere.example.com"),
			"a token that names no tenant":   at.token(v.name, "", "iss", tenantIssuer),
			"a token of nobody":              at.token(v.name, tenant, "sub", nil),
			"a forged token":                 at.forged(v.name, "tenant"),
			"an unsigned token":              unsigned(v.name, "tenant"),
			"a wrong password":               login(v.name, "wrong"),
			"a name that is not known":       login("nobody", password),
			"another scheme":                 {header: map[string]string{"Authorization": "Digest username=" + v.name}},
			"a good key and a wrong token":   at.key(bob(), tenant).with("Authorization", at.forged(v.name, "tenant").header["Authorization"]),
			"a good token and a revoked key": at.token(bob(), tenant).with("X-API-Key", at.revoked(v.name, tenant).header["Authorization"][len("Bearer "):]),
		} {
			add("with "+name, shows, none).refused = true
		}
	}
	return all
}
