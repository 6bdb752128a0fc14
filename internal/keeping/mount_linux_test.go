package keeping

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace runs the calling test again in a process that may mount file systems, which nobody else sees, and reports
// whether this is that process. The test is skipped where the system allows no such process.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const mark = "CONCLAVE_TEST_MOUNTS"
	if os.Getenv(mark) != "" {
		return true
	}
	again := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), mark+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	output, err := again.CombinedOutput()
	if again.ProcessState == nil {
		t.Skip("this system allows no process that may mount:", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	t.Logf("%s", output)
	return false
}

// mount mounts an empty file system at a folder, which it makes if need be.
func mount(t *testing.T, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", folder, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("this system mounts nothing in a namespace:", err)
	}
}

func unmount(t *testing.T, folder string) {
	t.Helper()
	if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
}

// TestUnmountedFolderRemovesNothing: the documents of a file system that was mounted below a followed folder stay when
// it is not mounted, whether its folder is empty, has other files, or is gone; those of an ordinary folder go with it.
func TestUnmountedFolderRemovesNothing(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	f := newFollowing(t)
	disk := filepath.Join(f.dir, "disk")
	inner := filepath.Join(disk, "deep", "inner")
	onDisk := map[string]string{}
	plain := map[string]string{}
	for i := range 6 {
		onDisk[fmt.Sprintf("disk/%d.md", i)] = fmt.Sprintf("Words on disk %d.", i)
		plain[fmt.Sprintf("plain/%d.md", i)] = fmt.Sprintf("Words in a folder %d.", i)
		plain[fmt.Sprintf("other/%d.md", i)] = fmt.Sprintf("Words in another %d.", i)
	}
	write(t, f.dir, plain)
	mount(t, disk)
	write(t, f.dir, onDisk)
	f.want("the first time", f.sync(nil), SyncReport{Added: 18})
	f.want("again", f.sync(nil), SyncReport{Unchanged: 18})

	held := Held{Folder: disk, Documents: 6, Of: 18, Unmounted: true}
	unmount(t, disk)
	f.want("not mounted", f.sync(nil), SyncReport{Unchanged: 12, Held: []Held{held}})
	write(t, f.dir, map[string]string{"disk/README.md": "Nothing is mounted here."})
	held.Of = 18
	f.want("the folder below has a file", f.sync(nil), SyncReport{Added: 1, Unchanged: 12, Held: []Held{held}})
	f.remove("disk")
	held.Of = 19
	f.want("the folder is gone, too", f.sync(nil), SyncReport{Removed: 1, Unchanged: 12, Held: []Held{held}})
	f.remove("plain")
	held.Of = 18
	f.want("an ordinary folder goes", f.sync(nil), SyncReport{Removed: 6, Unchanged: 6, Held: []Held{held}})

	mount(t, disk)
	write(t, f.dir, onDisk)
	f.want("it is back", f.sync(nil), SyncReport{Unchanged: 12})
	f.remove("disk/0.md", "disk/1.md")
	f.want("two of its files are deleted", f.sync(nil), SyncReport{Removed: 2, Unchanged: 10})
	mount(t, inner)
	write(t, f.dir, map[string]string{"disk/deep/inner/a.md": "Words on an inner disk."})
	f.want("another is mounted in it", f.sync(nil), SyncReport{Added: 1, Unchanged: 10})
	unmount(t, inner)
	f.remove("disk/deep")
	held = Held{Folder: inner, Documents: 1, Of: 11, Unmounted: true}
	f.want("and is gone", f.sync(nil), SyncReport{Unchanged: 10, Held: []Held{held}})
	f.want("which is meant", f.sync(deleteAll), SyncReport{Removed: 1, Unchanged: 10})

	unmount(t, disk)
	write(t, f.dir, onDisk)
	f.want("copied into the folder below", f.sync(nil), SyncReport{Added: 2, Replaced: 4, Unchanged: 6})
	f.remove("disk")
	f.want("which is an ordinary one now", f.sync(nil), SyncReport{Removed: 6, Unchanged: 6})
}
