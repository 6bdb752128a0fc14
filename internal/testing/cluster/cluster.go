// Package cluster starts a cluster of OpenSearch for tests: real nodes, each a process
// of its own on loopback, which can be killed, stopped for a while and started again.
// Maven Central and the Python package index have all that they consist of; pom.xml,
// SHA256SUMS and requirements.lock pin it by SHA-256, and it lies in the cache folder.
//
// The nodes have the k-NN plugin with Lucene's engine. They lack its native libraries,
// so the engine faiss hangs; the security plugin, so there are no TLS and no keys; and
// the analyser of Thai.
package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// starting is how long nodes may take to find each other, or again after one was away.
const starting = 2 * time.Minute

// Cluster is some nodes on loopback. Its methods must not be called at the same time.
type Cluster struct {
	URLs []string // of the nodes: http://127.0.0.1:PORT

	installation installation
	folder       string // data, logs and process ids of the nodes
	nodes        []*node
	guard        io.Closer // when this ends, by a call or with this process, so do the nodes
	http         http.Client
}

type node struct {
	http, transport int // ports
	process         *exec.Cmd
	gone            chan struct{} // closed when the process is gone
}

// Launch starts a cluster of so many nodes with its data in a new folder below folder, and waits until the nodes have
// found each other. It first fetches OpenSearch if need be. The nodes end with this process, however it ends, and
// their data are then removed; Close does so earlier. After an error nothing is left running.
func Launch(ctx context.Context, folder string, nodes int) (_ *Cluster, err error) {
	installed, err := install(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cluster{installation: installed, http: http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	c.folder, err = os.MkdirTemp(folder, "opensearch-")
	if err != nil {
		return nil, err
	}
	c.guard, err = startGuard(c.folder)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	ports, err := freePorts(2 * nodes)
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		c.nodes = append(c.nodes, &node{http: ports[2*i], transport: ports[2*i+1]})
		c.URLs = append(c.URLs, "http://127.0.0.1:"+strconv.Itoa(ports[2*i]))
	}
	for i := range c.nodes {
		if err := c.startNode(i); err != nil {
			return nil, err
		}
	}
	return c, c.Ready(ctx)
}

// startGuard starts a process that waits until the returned closer is closed or this process ends, then kills the
// nodes whose process ids are in files *.pid in folder, and removes folder. It works when this process is killed and
// when a node is stopped, on every system. It fails if there is no shell.
func startGuard(folder string) (io.Closer, error) {
	cmd := exec.Command(
		"sh", "-c",
		`cat >/dev/null; for i in 1 2 3; do cat "$0"/*.pid 2>/dev/null | xargs kill -9 2>/dev/null; sleep 0.2; rm -rf -- "$0" && exit; done`,
		folder,
	)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt from the terminal is not for it
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return in, cmd.Start()
}

// Close kills the nodes, waits until their processes are gone, and has their data removed. It may be called again.
func (c *Cluster) Close() {
	_ = c.guard.Close()
	for _, n := range c.nodes {
		if n.gone != nil {
			_ = n.process.Process.Kill() // as the guard does, which ended with an earlier Close
			<-n.gone
		}
	}
}

// freePorts returns n ports of loopback that no program listens on. They are between 20000 and 32000, below the range
// from which systems draw ports, so that a node that is down keeps its ports. It fails if there are fewer; another
// program may still take one before it is used.
func freePorts(n int) (found []int, err error) {
	for port := 20_000 + os.Getpid()*7%10_000; port < 32_000; port++ {
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		_ = listener.Close()
		found = append(found, port)
		if len(found) == n {
			return found, nil
		}
	}
	return nil, fmt.Errorf("fewer than %d free ports below 32000 on loopback", n)
}

// Address returns the address of an index of the cluster as configurations name a store:
// opensearch+http://HOST:PORT,…/INDEX.
func (c *Cluster) Address(index string) string {
	hosts := make([]string, len(c.URLs))
	for i, node := range c.URLs {
		hosts[i] = strings.TrimPrefix(node, "http://")
	}
	return "opensearch+http://" + strings.Join(hosts, ",") + "/" + url.PathEscape(index)
}

// Snapshots returns the folder below which every node accepts snapshot repositories of the type fs (path.repo).
func (c *Cluster) Snapshots() string { return filepath.Join(c.folder, "snapshots") }

// startNode starts the process of node i, with a file of its process id for the guard and its output appended to its
// log. It does not wait until the node answers. It fails if Java cannot be started or the folder cannot be written.
func (c *Cluster) startNode(i int) error {
	n := c.nodes[i]
	name := "node-" + strconv.Itoa(i)
	var seeds, names []string
	for j, other := range c.nodes {
		seeds = append(seeds, "127.0.0.1:"+strconv.Itoa(other.transport))
		names = append(names, "node-"+strconv.Itoa(j))
	}
	home := filepath.Join(c.folder, name)
	if err := os.MkdirAll(filepath.Join(home, "config"), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(c.logPath(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(c.installation.java(), append([]string{"-XX:AOTCache=" + c.installation.classFile()},
		c.installation.nodeArguments(
			home, name, n.http, n.transport, "cluster.name="+filepath.Base(c.folder), "path.repo="+c.Snapshots(),
			"discovery.seed_hosts="+strings.Join(seeds, ","),
			"cluster.initial_cluster_manager_nodes="+strings.Join(names, ","),
		)...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.process = cmd
	n.gone = make(chan struct{})
	record := filepath.Join(c.folder, name+".pid")
	go func() {
		_ = cmd.Wait()
		_ = os.Remove(record)
		close(n.gone)
	}()
	return os.WriteFile(record, []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o644)
}

// logPath returns the path of the log of node i.
func (c *Cluster) logPath(i int) string {
	return filepath.Join(c.folder, "node-"+strconv.Itoa(i)+".log")
}

// Kill kills node i (SIGKILL) and waits until its process is gone. It returns the error of the signal.
func (c *Cluster) Kill(i int) error {
	err := c.nodes[i].process.Process.Kill()
	<-c.nodes[i].gone
	return err
}

// Stop stops node i (SIGSTOP): its connections stay open, and nothing answers. Continue or Mend ends that. It returns
// the error of the signal.
func (c *Cluster) Stop(i int) error { return c.nodes[i].process.Process.Signal(syscall.SIGSTOP) }

// Continue lets the stopped node i go on (SIGCONT). It returns the error of the signal.
func (c *Cluster) Continue(i int) error { return c.nodes[i].process.Process.Signal(syscall.SIGCONT) }

// Restart starts node i, which was killed, with its data. It does not wait until the node answers. It fails if the
// process cannot be started.
func (c *Cluster) Restart(i int) error { return c.startNode(i) }

// Mend starts every killed node, lets every stopped one go on, and waits until all nodes have joined and all shards are
// assigned (Ready). It fails if a node cannot be started, one ends, ctx ends, or that takes too long.
func (c *Cluster) Mend(ctx context.Context) error {
	for i, n := range c.nodes {
		select {
		case <-n.gone:
			if err := c.startNode(i); err != nil {
				return err
			}
		default:
			if err := c.Continue(i); err != nil {
				return err
			}
		}
	}
	return c.Ready(ctx)
}

// Ready waits until every node reports that all nodes have joined and every copy of every shard is assigned. It
// returns an error with the end of a node's log if a node has ended, or ctx ends, or that takes more than two
// minutes.
func (c *Cluster) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for i, address := range c.URLs {
		query := fmt.Sprintf(
			"/_cluster/health?wait_for_nodes=%d&wait_for_status=green&wait_for_no_initializing_shards=true&wait_for_no_relocating_shards=true&timeout=5s",
			len(c.nodes),
		)
		for {
			status, err := c.getStatus(ctx, address+query)
			if err == nil && status == http.StatusOK {
				break
			}
			select {
			case <-ctx.Done():
				log, _ := os.ReadFile(c.logPath(i))
				return fmt.Errorf(
					"node %d was not ready in time (status %d, %v): %w; its log ends:\n%s", i, status, err, ctx.Err(),
					log[max(0, len(log)-4000):],
				)
			case <-c.nodes[i].gone:
				log, _ := os.ReadFile(c.logPath(i))
				return fmt.Errorf("node %d ended; its log ends:\n%s", i, log[max(0, len(log)-4000):])
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// getStatus sends a GET request to the address and returns the status code of the answer. It fails if the node does
// not answer.
func (c *Cluster) getStatus(ctx context.Context, address string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, answer.Body.Close()
}
