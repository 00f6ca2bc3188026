package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-a2a/parley/store"
)

// Options adjusts a Store. A nil *Options means all defaults.
type Options struct {
	// Logger gets messages for operators. Nil discards.
	Logger *slog.Logger
	// Conns limits the number of connections, not counting the listening one. Zero means 10.
	Conns int
	// Listen is the address for the connection that listens for hints. It is needed if the
	// other address is a pooler's, because hints do not pass a pooler. Empty means the same
	// address.
	Listen string
	// Existing is for commands that run beside servers: Open does not create or migrate the
	// schema. It returns fs.ErrNotExist if there is no schema, and an error if the schema is
	// of an older version.
	Existing bool
	// Migrating is called when Open migrates a database of an older version. It gets how many
	// of the steps are done: first none, finally all. Nil calls nothing.
	Migrating func(done, of int)
	// NoListen turns hints off, including sending: for servers without LISTEN. Processes then
	// notice changes of others only by polling, see store.Store's Watch.
	NoListen bool
	// NoAdvisory is for servers without advisory locks. Then programs of a new version must
	// not be started for the first time side by side, and totals of lists are counted each
	// time.
	NoAdvisory bool
	// AllowAsyncCommit opens a database even if its settings may lose acknowledged commits
	// when it crashes or a standby takes over. Otherwise Open returns ErrLossy, unless
	// Existing is set.
	AllowAsyncCommit bool

	wait time.Duration // callWait, except in tests
}

// fromAddress removes the parameters of an address that are options of this package, and sets
// these: listen (an address, or off) and advisory (off).
func (o *Options) fromAddress(address string) (string, error) {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return "", errors.New("postgres: the address must begin with postgres:// or postgresql://")
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("postgres: the address is not a URL") // its text may contain a password
	}
	var others []string // unchanged: unlike url.Values, libpq does not read + as a space
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if value, err = url.PathUnescape(value); err != nil {
			return "", errors.New("postgres: the address is not a URL")
		}
		switch {
		case name == "listen" && value == "off":
			o.NoListen = true
		case name == "listen" && value != "":
			o.Listen = value
		case name == "advisory" && value == "off":
			o.NoAdvisory = true
		case name == "advisory" && value != "":
			return "", errors.New("postgres: advisory in the address must be off, or not there")
		case name != "listen" && name != "advisory":
			others = append(others, pair)
		}
	}
	u.RawQuery = strings.Join(others, "&")
	return u.String(), nil
}

// Store is a store.Store in a PostgreSQL database, which any number of processes may have
// open.
type Store struct {
	*db
	writer  *writer // of appends
	hub     store.Hub
	hints   hints  // to be sent
	sweeps  sweeps // when to drop old messages
	slot    int16  // slot of this process's tallies, see migrations
	scopes  scopes
	shrunk  chan struct{}  // capacity one: scopes may have lost their tasks
	deleted atomic.Bool    // tasks were deleted since Open
	growing chan scopeName // names that may have become big enough for a scope
	tasks   keys           // of new tasks
	pushes  keys
	end     context.CancelFunc
	work    sync.WaitGroup // the store's goroutines

	commits, entries atomic.Int64
	watcher          atomic.Pointer[func(store.Commit)] // nil: none

	prelude    string // the first statement of a transaction of appends
	afterCount func() // if not nil, called after each page of countScope; for tests

	closing sync.Once
	closed  atomic.Bool // Close was called
}

// slots is the number of slots in which tallies are counted. Processes that share a slot
// sometimes wait for each other's transactions, with no other effect.
const slots = 16

// Open connects to a database and creates its schema, or migrates it to this program's
// version. address is a URL as in libpq, and may have pgx's pool parameters (pool_max_conns)
// and those of Options: listen and advisory.
func Open(ctx context.Context, address string, o *Options) (*Store, error) {
	d, err := connect(ctx, address, o)
	if err != nil {
		return nil, err
	}
	var end context.CancelFunc
	d.over, end = context.WithCancel(context.Background())
	s := &Store{db: d, end: end, slot: int16(rand.IntN(slots)), growing: make(chan scopeName, 64), shrunk: make(chan struct{}, 1),
		tasks: keys{sequence: "task_key"}, pushes: keys{sequence: "push_key"}}
	if err := s.ready(ctx); err != nil {
		end()
		d.pool.Close()
		return nil, wrap("open", err)
	}
	s.writer = newWriter(s)
	s.work.Go(s.promote)
	s.begin()
	return s, nil
}

// ready checks the server, creates the schema, and reads what the store needs to know.
func (s *Store) ready(ctx context.Context) (err error) {
	if s.o.Existing {
		err = current.exists(ctx, s.db)
	} else {
		err = s.admit()
	}
	if err == nil {
		err = s.probe(ctx)
	}
	if err == nil && !s.o.Existing {
		err = current.migrate(ctx, s.db)
	}
	if err == nil {
		err = s.probeRows(ctx)
	}
	if err == nil {
		err = s.prepare(ctx)
	}
	if err == nil && s.o.NoAdvisory {
		err = s.forgetScopes(ctx)
	}
	return err
}

// connect makes the pool of connections, and one connection to check that it works.
func connect(ctx context.Context, address string, o *Options) (*db, error) {
	all := Options{}
	if o != nil {
		all = *o
	}
	if all.wait == 0 {
		all.wait = callWait
	}
	if all.Logger == nil {
		all.Logger = slog.New(slog.DiscardHandler)
	}
	address, err := all.fromAddress(address)
	if err != nil {
		return nil, err
	}
	c, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("postgres: the address cannot be used: %w", err) // pgx omits the password
	}
	if all.Listen != "" {
		if _, err := pgxpool.ParseConfig(all.Listen); err != nil {
			return nil, fmt.Errorf("postgres: listen in the address cannot be used: %w", err)
		}
	}
	switch {
	case all.Conns > 0:
		c.MaxConns = int32(all.Conns)
	case !strings.Contains(address, "pool_max_conns"):
		c.MaxConns = 10
	}
	if !strings.Contains(address, "default_query_exec_mode") {
		// Statements have no names, because behind a pooler another program may use the same
		// session.
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	d := &db{o: all, over: context.Background()}
	d.seen = &timelines{log: all.Logger}
	d.seen.fence(c.ConnConfig)
	c.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		guard(c)
		return nil
	}
	c.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		err := d.meet(ctx, c)
		if err == nil && c.Config().DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
			_, err = c.Exec(ctx, planOnce, pgx.QueryExecModeSimpleProtocol)
		}
		return err
	}
	if d.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, wrap("open", err)
	}
	d.seen.raise(d.pool.Reset) // closes connections to the former primary
	if err := d.read(ctx, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, "SELECT 1")
		return err
	}); err != nil {
		d.pool.Close()
		return nil, wrap("open", err)
	}
	return d, nil
}

// planOnce makes the server plan prepared statements once, whatever their arguments.
// Otherwise it would plan a list of millions of tasks each time, because it overestimates the
// cost of a plan for any arguments; planning takes longer than running it. For the same
// reason such a plan might run in parallel, which takes milliseconds to start.
const planOnce = "SELECT set_config(name, CASE name WHEN 'plan_cache_mode' THEN 'force_generic_plan' ELSE '0' END, false) " +
	"FROM pg_catalog.pg_settings WHERE name IN ('plan_cache_mode', 'max_parallel_workers_per_gather') AND source <> 'client'"

// Stats returns what has been written since Open.
func (s *Store) Stats() store.Stats {
	return store.Stats{Commits: s.commits.Load(), Entries: s.entries.Load()}
}

// OnCommit implements store.Metered.
func (s *Store) OnCommit(f func(store.Commit)) { s.watcher.Store(&f) }

// Close implements store.Store.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed.Store(true)
		s.writer.group.Close() // waits for queued appends
		if s.deleted.Load() {
			s.dropNow(context.Background())
		}
		s.end()
		s.work.Wait()
		s.pool.Close()
	})
	return nil
}
