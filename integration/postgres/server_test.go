package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/loopback"
	"github.com/offtake-go/offtake/sqlclient"
)

// programs is where Debian has PostgreSQL; the package is installed if it is not
// there.
var programs = sync.OnceValues(func() (string, error) {
	find := func() (string, error) {
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("there is no /usr/lib/postgresql/*/bin")
		}
		if err != nil {
			return "", err
		}
		return found[len(found)-1], nil
	}
	if dir, err := find(); err == nil {
		return dir, nil
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "postgresql"}} {
		cmd := exec.Command("apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("apt-get %v: %w\n%s", args, err, out)
		}
	}
	return find()
})

// server is a PostgreSQL of its own for one test.
type server struct {
	t         *testing.T
	bin, data string
	port      string
	as        *syscall.SysProcAttr
	process   *exec.Cmd
}

func start(t *testing.T, connections int) *server {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "postgres") //nolint:usetesting // the server runs as another user, who can't enter the test's own folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &server{t: t, bin: bin, data: filepath.Join(dir, "data"), as: &syscall.SysProcAttr{Setpgid: true}}
	_, s.port, _ = strings.Cut(loopback.Free(t), ":")
	if os.Getuid() == 0 { // it does not run as root
		who, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(who.Uid)
		gid, _ := strconv.Atoi(who.Gid)
		s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	s.run("initdb", "-D", s.data, "-U", "postgres", "-A", "trust", "--no-sync")
	config := fmt.Sprintf("\nport=%s\nlisten_addresses='127.0.0.1'\nunix_socket_directories=''\nmax_connections=%d\nsuperuser_reserved_connections=2\nfsync=off\n", s.port, connections)
	f, err := os.OpenFile(filepath.Join(s.data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(config); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.up()
	t.Cleanup(s.kill)
	s.exec("CREATE ROLE app LOGIN; CREATE TABLE orders (id int primary key, n int); INSERT INTO orders SELECT i, 0 FROM generate_series(1, 100) i; GRANT ALL ON orders TO app")
	return s
}

func (s *server) run(program string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.SysProcAttr, cmd.Dir = s.as, filepath.Dir(s.data)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// up starts the server and waits until it answers.
func (s *server) up() {
	s.t.Helper()
	s.process = exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data)
	s.process.SysProcAttr, s.process.Dir = s.as, filepath.Dir(s.data)
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		c, err := pgx.Connect(s.t.Context(), s.dsn("postgres"))
		if err == nil {
			_ = c.Close(s.t.Context())
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("PostgreSQL does not answer: %v", err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// kill ends the server at once, with all of its connections.
func (s *server) kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGQUIT)
	_ = s.process.Wait() // it is told to end
	s.process = nil
}

func (s *server) dsn(role string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%s/postgres?sslmode=disable", role, s.port)
}

// exec runs statements as the superuser, on a connection of their own.
func (s *server) exec(statements string) {
	s.t.Helper()
	c, err := pgx.Connect(s.t.Context(), s.dsn("postgres"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(s.t.Context(), statements); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) connector() driver.Connector {
	config, err := pgx.ParseConfig(s.dsn("app"))
	if err != nil {
		s.t.Fatal(err)
	}
	return stdlib.GetConnector(*config)
}

// bare is a sql.DB as one has it, with the same number of connections.
func (s *server) bare(connections int) *sql.DB {
	db := sql.OpenDB(s.connector())
	db.SetMaxOpenConns(connections)
	s.t.Cleanup(func() { _ = db.Close() })
	return db
}

// ours is a warm client of the server.
func (s *server) ours(plan capacity.Plan) *sqlclient.DB {
	s.t.Helper()
	db, err := sqlclient.New(s.connector(), plan, &sqlclient.Options{Name: "orders-db", Registerer: prometheus.NewRegistry()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = db.Close() })
	if err := db.Warm(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return db
}
