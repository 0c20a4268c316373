package integration

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/internal/loopback"
)

// A proxy starts one between callers and replicas, and returns its address.
type proxy func(t *testing.T, replicas []string) string

// haproxy takes a replica out after so many failures in a row, and back when two
// checks have passed, two seconds apart.
func haproxy(errors int) proxy {
	return func(t *testing.T, replicas []string) string {
		rule := fmt.Sprintf("inter 2s rise 2 observe layer7 error-limit %d on-error mark-down", errors)
		return listening(t, startHAProxy(t, replicas, "/livez", rule))
	}
}

// startHAProxy balances over replicas whose probe succeeds, under a rule.
func startHAProxy(t *testing.T, replicas []string, probe, rule string) (address string) {
	t.Helper()
	program := need(t, "haproxy", "haproxy")
	listen := loopback.Free(t)
	config := filepath.Join(t.TempDir(), "haproxy.cfg")
	var servers strings.Builder
	for i, r := range replicas {
		fmt.Fprintf(&servers, "  server r%d %s\n", i, r)
	}
	writeFile(t, config, fmt.Sprintf(`
global
  maxconn 2000
defaults
  mode http
  timeout connect 5s
  timeout check 5s
  timeout client 10s
  timeout server 10s
frontend callers
  bind %s
  default_backend replicas
backend replicas
  balance roundrobin
  option httpchk GET %s
  default-server check %s
%s`, listen, probe, rule, &servers))
	start(t, program, "-db", "-f", config)
	return listen
}

// nginx takes a replica out for ten seconds after five failures within them; what
// a failure is, is for proxy_next_upstream to say.
func nginx(failures string) proxy {
	return func(t *testing.T, replicas []string) string {
		program := need(t, "nginx", "nginx-light")
		listen, dir := loopback.Free(t), t.TempDir()
		var servers strings.Builder
		for _, r := range replicas {
			fmt.Fprintf(&servers, "    server %s max_fails=5 fail_timeout=10s;\n", r)
		}
		config := filepath.Join(dir, "nginx.conf")
		writeFile(t, config, fmt.Sprintf(`
user root;
daemon off;
pid %[1]s/pid;
error_log %[1]s/error.log;
events { worker_connections 2000; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  upstream replicas {
%[2]s  }
  server {
    listen %[3]s;
    location / {
      proxy_pass http://replicas;
      proxy_http_version 1.1;
      proxy_next_upstream %[4]s;
    }
  }
}
`, dir, &servers, listen, failures))
		start(t, program, "-c", config, "-e", filepath.Join(dir, "error.log"))
		return listening(t, listen)
	}
}

// caddy takes a replica out for ten seconds after five failures within them.
func caddy(failures string) proxy {
	return func(t *testing.T, replicas []string) string {
		program := need(t, "caddy", "caddy")
		listen, dir := loopback.Free(t), t.TempDir()
		config := filepath.Join(dir, "Caddyfile")
		writeFile(t, config, fmt.Sprintf(`
{
	admin off
	auto_https off
}
http://%s {
	reverse_proxy %s {
		lb_policy round_robin
		max_fails 5
		fail_duration 10s
		unhealthy_status %s
	}
}
`, listen, strings.Join(replicas, " "), failures))
		start(t, "/usr/bin/env", "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, program, "run", "--config", config, "--adapter", "caddyfile")
		return listening(t, listen)
	}
}

// listening waits until a proxy answers, whatever it says.
func listening(t *testing.T, address string) string {
	t.Helper()
	url := "http://" + address
	eventually(t, 20*time.Second, url+" answers", func() (any, bool) {
		status := get(t.Context(), http.DefaultClient, url+"/livez")
		return status, status == http.StatusOK
	})
	return url
}
