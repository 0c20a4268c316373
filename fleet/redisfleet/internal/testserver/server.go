// Package testserver runs a Valkey or Redis server for a test.
package testserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Server is a store of its own for a test, on a socket in a folder of its own. It
// keeps nothing on disk. Whoever starts it stops it.
type Server struct {
	Socket  string
	program string
	command *exec.Cmd
}

// patience is how long a server may take to answer.
const patience = 20 * time.Second

// Start runs the server that is installed, or installs the one of Debian when it may.
func Start(ctx context.Context) (*Server, error) {
	program, err := find(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		return nil, err
	}
	s := &Server{Socket: filepath.Join(dir, "s"), program: program}
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// run starts the program and waits until it answers.
func (s *Server) run(ctx context.Context) error {
	// It lives until it is stopped, and not as long as what it was started for.
	s.command = exec.CommandContext(context.WithoutCancel(ctx), s.program, "--port", "0", "--unixsocket", s.Socket,
		"--save", "", "--appendonly", "no", "--dir", filepath.Dir(s.Socket))
	if err := s.command.Start(); err != nil {
		return fmt.Errorf("testserver: start %s: %w", s.program, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ping(ctx, s.Socket)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("testserver: %s does not answer: %w", s.program, err), s.kill())
		}
	}
}

func ping(ctx context.Context, socket string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	pong := make([]byte, 5)
	if _, err := conn.Read(pong); err != nil {
		return err
	}
	if string(pong) != "+PONG" {
		return fmt.Errorf("answer to PING = %q", pong)
	}
	return nil
}

// Pause lets the server stand still, with all its connections open.
func (s *Server) Pause() error { return s.command.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (s *Server) Resume() error { return s.command.Process.Signal(syscall.SIGCONT) }

// Lose ends the server without a word and starts another in its place, with no data.
func (s *Server) Lose(ctx context.Context) error {
	if err := s.kill(); err != nil {
		return err
	}
	return s.run(ctx)
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() error {
	return errors.Join(s.kill(), os.RemoveAll(filepath.Dir(s.Socket)))
}

func (s *Server) kill() error {
	if err := s.command.Process.Kill(); err != nil {
		return err
	}
	err := s.command.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil // it was killed
	}
	return err
}
