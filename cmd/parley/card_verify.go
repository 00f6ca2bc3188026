package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/keyfile"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
)

// codeSignature means that no signature of a card is valid.
const codeSignature = "PARLEY_ERR_CARD_SIGNATURE"

type cardVerifyFlags struct {
	sets     []string // files
	keys     []string // files
	allow    []string
	stripped bool
}

func newCardVerify(a *app) *cobra.Command {
	var f cardVerifyFlags
	cmd := a.client(&cobra.Command{
		Use:   "verify [card.json | -]",
		Short: "Verify the signatures of an agent card",
		Long: `Verify the signatures of an agent card (A2A §8.4.3): from a file, from standard input
with -, or of the agent at --agent-card. One valid signature is enough; exit code 1
means that there is none. Members of the card that the signature does not cover are
named: those that version 1.0 does not know, and empty ones that the signed form omits.

You name the trusted keys. The key address in a signature comes from whoever made the
card, and is fetched only if --allow-jku names the same one.`,
		Example: `  parley card verify --jwks jwks.json card.json
  parley card verify --allow-jku https://agent.example/jwks.json -a https://agent.example`,
		Args: cobra.MaximumNArgs(1),
	}, func(ctx context.Context, args []string) error {
		return a.verifyCard(ctx, &f, args)
	})
	fs := cmd.Flags()
	fs.StringArrayVar(&f.sets, "jwks", nil, "`file` with a JSON Web Key Set; may be repeated")
	fs.StringArrayVar(&f.keys, "key", nil, "`file` with one key, PEM or JSON Web Key; may be repeated")
	fs.StringArrayVar(&f.allow, "allow-jku", nil, "`URL` of a JSON Web Key Set that a signature may name; may be repeated")
	fs.BoolVar(&f.stripped, "stripped", false, "also accept signatures over the card without its empty members, as SDKs for JavaScript and Python make them")
	return cmd
}

func (a *app) verifyCard(ctx context.Context, f *cardVerifyFlags, args []string) error {
	keys, err := f.source(a)
	if err != nil {
		return err
	}
	doc, err := a.cardDocument(ctx, args)
	if err != nil {
		return err
	}
	v, err := auth.VerifyJSON(ctx, doc, keys, &auth.VerifyOptions{Stripped: f.stripped})
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return failure.New(failure.CodeCardInvalid, "the card's signatures cannot be judged: "+err.Error(), err)
	}
	if err := v.Err(); err != nil {
		f := failure.New(codeSignature, strings.ReplaceAll(err.Error(), "\n", "; "), err)
		if errors.Is(err, auth.ErrUnknownKey) {
			return f.WithHint("name the keys that you trust with --jwks or --key")
		}
		return f
	}
	if a.flags.output == "json" {
		return a.printVerifiedJSON(v)
	}
	out := output.NewWriter(a.stdout)
	for i := range v.Results {
		r := &v.Results[i]
		is := "holds"
		if r.Err != nil {
			is = r.Err.Error()
		}
		out.Field("Signature", fmt.Sprintf("%s %s: %s", r.Algorithm, r.KeyID, is))
	}
	for _, path := range v.Good().Payload.Uncovered {
		out.Field("Not signed", path)
	}
	for _, path := range v.Good().Payload.Empty {
		out.Field("Not signed, because it is empty", path)
	}
	return printed(out.Flush())
}

// source returns the keys to verify with.
func (f *cardVerifyFlags) source(a *app) (auth.KeySource, error) {
	files := slices.Concat(f.sets, f.keys)
	if len(files)+len(f.allow)+len(a.flags.cardTrust.Keys) == 0 {
		return nil, failure.Usagef("with which keys? neither --jwks nor --key nor --allow-jku is set").
			WithHint("ask whoever runs the agent for its keys: those beside a card are only as good as the card")
	}
	set := slices.Clone(a.flags.cardTrust.Keys)
	for _, name := range files {
		doc, err := keyfile.Read(name, keyfile.MaxKey)
		if err != nil {
			return nil, failure.Usagef("read the keys: %v", err)
		}
		keys, err := auth.ParseKeySet(doc)
		if err != nil {
			return nil, failure.Usagef("%s: %v", plain.Quote(name), err)
		}
		set = append(set, keys...)
	}
	return &cardKeys{set: set, remote: &auth.Remote{Allow: f.allow, HTTPClient: a.httpClient()}}, nil
}

// cardKeys are the keys of files, then those of URLs.
type cardKeys struct {
	set    auth.KeySet
	remote *auth.Remote
}

func (k *cardKeys) Keys(ctx context.Context, kid, jku string) ([]*auth.Key, error) {
	found, err := k.set.Keys(ctx, kid, jku)
	if err == nil || len(k.remote.Allow) == 0 {
		return found, err
	}
	return k.remote.Keys(ctx, kid, jku)
}

// cardDocument returns the unparsed card to verify, because parsing drops members that a
// signature may cover.
func (a *app) cardDocument(ctx context.Context, args []string) ([]byte, error) {
	if len(args) > 0 {
		return a.readCardArg(args)
	}
	if err := a.wantAgent(ctx); err != nil {
		return nil, err
	}
	var doc []byte
	o := a.clientOptions()
	o.CheckCard = func(_ context.Context, fetched []byte) ([]byte, error) {
		doc = fetched
		return fetched, nil
	}
	_, err := a2aclient.Resolve(ctx, a.flags.agentCard, o)
	return doc, err
}

func (a *app) printVerifiedJSON(v *auth.Verification) error {
	type signature struct {
		KeyID     string `json:"keyId"`
		Algorithm string `json:"algorithm"`
		JKU       string `json:"jku,omitempty"`
		Holds     bool   `json:"holds"`
		Error     string `json:"error,omitempty"`
	}
	out := struct {
		Signatures []signature     `json:"signatures"`
		NotSigned  []string        `json:"notSigned,omitempty"`
		Empty      []string        `json:"notSignedEmpty,omitempty"`
		Card       json.RawMessage `json:"card"` // the signed content
	}{NotSigned: v.Good().Payload.Uncovered, Empty: v.Good().Payload.Empty, Card: v.Good().Payload.JSON}
	for _, r := range v.Results {
		s := signature{KeyID: r.KeyID, Algorithm: r.Algorithm, JKU: r.JKU, Holds: r.Err == nil}
		if r.Err != nil {
			s.Error = r.Err.Error()
		}
		out.Signatures = append(out.Signatures, s)
	}
	doc, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return a.say("%s", doc)
}
