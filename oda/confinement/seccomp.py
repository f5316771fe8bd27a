"""System call filters of the kernel (seccomp), assembled here.

A filter is a classic BPF program: it is given the architecture, the number of the call and its
arguments, and returns a verdict. On an unknown architecture the process is killed; calls newer than
this list do not exist for it. Calls that create processes are denied: a limit on their number does
not bind root, and the limits of memory and time are per process. Threads are not processes and may
be created.
"""

import errno
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from oda.confinement.syscalls import LAST, NUMBERS

Machine = Literal["x86_64", "aarch64"]

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

_LOAD, _EQUAL, _AT_LEAST, _MASK, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000

_CLONE_FILES, _CLONE_THREAD = 0x00000400, 0x00010000
_CLOSE_RANGE_UNSHARE = 2
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
_SOCK_STREAM = 1
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_PLAIN_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15
_F_SETLEASE, _F_NOTIFY, _F_SETPIPE_SZ = 1024, 1026, 1031
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22


@dataclass(frozen=True)
class Rule:
    """The verdict for a call: an error, unless one of its arguments has an allowed value.

    Arguments are compared by their lower 32 bits, which is what the kernel uses of those named
    here.
    """

    call: str
    error: int = errno.EPERM
    """The errno returned; 0 for a call that does nothing and reports success."""
    argument: int = 0
    only: tuple[int, ...] | None = None
    """Values that are allowed; None denies the call for all values."""
    never: tuple[int, ...] = ()
    """Values that are denied, while all others are allowed."""
    mask: int = 0xFFFFFFFF
    """Mask of the compared bits of the argument."""
    otherwise: int | None = None
    """An errno, as in `error`, returned for the values that are not denied; None allows them."""


def _deny(*calls: str, error: int = errno.EPERM) -> tuple[Rule, ...]:
    return tuple(Rule(call, error) for call in calls)


_EVERYWHERE = (
    *_deny("fork", "vfork", "unshare", "setns", "personality"),
    # Threads with handles of their own would each have as many as the limit allows.
    Rule("clone", only=(_CLONE_THREAD | _CLONE_FILES,), mask=_CLONE_THREAD | _CLONE_FILES),
    *_deny("clone3", error=errno.ENOSYS),  # the C library takes `clone` then
    Rule("close_range", argument=2, only=(0,), mask=_CLOSE_RANGE_UNSHARE),
    # No limit holds for a process that outlives the server, or whose handles the server cannot see.
    Rule("prctl", never=(_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP)),
    *_deny("seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"),
    *_deny("pidfd_getfd", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise"),
    *_deny("process_mrelease", "kcmp", "move_pages", "migrate_pages"),
    # Shared memory stays whole while one page of it is mapped, but only that page counts to the
    # limit.
    Rule(
        "mmap",
        argument=3,
        never=(_MAP_SHARED | _MAP_ANONYMOUS,),
        mask=_MAP_SHARED | _MAP_ANONYMOUS,
    ),
    *_deny("memfd_create", "memfd_secret", "io_setup", error=errno.ENOSYS),
    # Data queued in sockets is not accounted for: allow no listeners and keep queues short.
    *_deny("setsockopt", error=0),
    *_deny("socket", "connect", "bind", "listen", "accept", "accept4"),
    Rule("socketpair", argument=1, only=(_SOCK_STREAM,), mask=0xFF),
    *_deny("shmget", "shmat", "shmctl", "mq_open", "mq_unlink", error=errno.ENOSYS),
    *_deny("semget", "semop", "semctl", "semtimedop", error=errno.ENOSYS),
    *_deny("msgget", "msgsnd", "msgrcv", "msgctl", error=errno.ENOSYS),
    *_deny("bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key"),
    *_deny("io_uring_setup", "io_uring_enter", "io_uring_register", error=errno.ENOSYS),
    *_deny("modify_ldt", "lookup_dcookie", "nfsservctl", "uselib"),
    *_deny("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen"),
    *_deny("fsconfig", "fsmount", "fspick", "mount_setattr", "swapon", "swapoff"),
    *_deny("quotactl", "quotactl_fd", "acct", "open_by_handle_at", "name_to_handle_at"),
    *_deny("fanotify_init", "fanotify_mark", "inotify_init", "inotify_init1", "inotify_add_watch"),
    Rule(
        "fcntl",
        argument=1,
        never=(_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY, _F_SETPIPE_SZ),
    ),
    *_deny("reboot", "kexec_load", "kexec_file_load", "init_module", "finit_module"),
    *_deny("delete_module", "syslog", "iopl", "ioperm", "settimeofday", "clock_settime"),
    *_deny("clock_adjtime", "adjtimex", "sethostname", "setdomainname", "vhangup"),
    *_deny("sync", "syncfs", error=0),  # they make everybody wait for all disks of the machine
    # Landlock does not deny these, and root's devices are visible in a namespace too. Programs that
    # copy files apply them to their own files, so the calls report success.
    *_deny("chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", error=0),
    *(
        Rule(call, argument=argument, never=(0,), otherwise=0)  # `touch` makes the file then
        for call, argument in (("utime", 1), ("utimes", 1), ("futimesat", 2), ("utimensat", 2))
    ),
    *_deny("setxattr", "lsetxattr", "fsetxattr", error=errno.ENOTSUP),
    *_deny("removexattr", "lremovexattr", "fremovexattr", error=errno.ENOTSUP),
)


def rules_of_namespaces() -> tuple[Rule, ...]:
    """Return the rules for code with its own network, process and file namespaces."""
    return (
        *_EVERYWHERE,
        Rule("ioctl", argument=1, never=(_TIOCSTI, _TIOCLINUX)),
    )


def rules_among_others(pid: int) -> tuple[Rule, ...]:
    """Return the rules for code in process `pid`, which shares the host's processes and files."""
    return (
        *_EVERYWHERE,
        *_deny("execve", "execveat"),
        Rule("kill", only=(pid,)),
        Rule("tgkill", only=(pid,)),
        *_deny("tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open", "pidfd_send_signal"),
        Rule("ioctl", errno.ENOTTY, argument=1, only=_PLAIN_IOCTLS),
        Rule("prlimit64", only=(0, pid)),
        *(
            Rule(call, only=(0, pid))
            for call in ("sched_setaffinity", "sched_setscheduler", "sched_setparam")
        ),
        Rule("sched_setattr", only=(0, pid)),
        *_deny("setpriority", "ioprio_set"),
        # Disk space: taken faster than anybody watches, or by files that are on their way.
        *_deny("fallocate", error=errno.EOPNOTSUPP),
        *_deny("sendmsg", "sendmmsg"),
    )


def this_machine() -> Machine:
    """Return the architecture of this machine.

    Raises:
        OSError: no filter is known for it.
    """
    match platform.machine():
        case "x86_64":
            return "x86_64"
        case "aarch64" | "arm64":
            return "aarch64"
        case other:
            raise OSError(
                f"no filter of system calls is known for {other or 'this machine'}: run on x86_64 "
                "or aarch64"
            )


def assemble(rules: Sequence[Rule], machine: Machine) -> bytes:
    """Assemble the BPF program; each instruction takes 8 bytes."""
    program = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, _AUDIT_ARCH[machine], then=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, LAST + 1, otherwise=1),
        _step(_RETURN, _ERRNO | errno.ENOSYS),
    ]
    for rule in rules:
        number = NUMBERS[rule.call][0 if machine == "x86_64" else 1]
        if number is not None:
            verdict = _verdict(rule)
            program += [_step(_EQUAL, number, otherwise=len(verdict)), *verdict]
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _verdict(rule: Rule) -> list[bytes]:
    """Return the instructions for a call whose number is the rule's.

    They always return a verdict.
    """
    denied = _step(_RETURN, _ERRNO | rule.error)
    if rule.only is None and not rule.never:
        return [denied]
    allowed = _step(_RETURN, _ALLOW if rule.otherwise is None else _ERRNO | rule.otherwise)
    values = rule.never if rule.only is None else rule.only
    found, not_found = (allowed, denied) if rule.only is not None else (denied, allowed)
    return [
        _step(_LOAD, _ARGUMENTS + 8 * rule.argument),
        _step(_MASK, rule.mask),
        *(
            _step(_EQUAL, value, then=len(values) - position)
            for position, value in enumerate(values)
        ),
        not_found,
        found,
    ]


def _step(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
