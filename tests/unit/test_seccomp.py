"""What the filters of system calls say, on both machines that they are made for."""

import errno

import pytest

from oda.confinement.seccomp import Machine, assemble, rules_among_others, rules_of_namespaces
from oda.confinement.syscalls import LAST, NUMBERS
from tests.support.bpf import ALLOWED, KILLED, verdict

ARCHITECTURES: dict[Machine, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
OWN = 4321
THREAD, SIGCHLD = 0x00010F00, 17
AF_UNIX, AF_INET, AF_NETLINK, AF_VSOCK = 1, 2, 16, 40
STREAM, DGRAM, CLOSE_ON_EXEC = 1, 2, 0o2000000
TCGETS, TIOCSTI, SET_IMMUTABLE = 0x5401, 0x5412, 0x40086602
F_GETFL, F_SETOWN, F_SETSIG = 3, 8, 10
ABOVE = 1 << 32
"""A bit that the kernel does not look at: it must not change what is said."""

BOTH = [
    ("clone", (THREAD,), ALLOWED),
    ("clone", (SIGCHLD,), errno.EPERM),
    ("clone", (SIGCHLD | ABOVE,), errno.EPERM),
    ("clone3", (), errno.ENOSYS),
    ("fork", (), errno.EPERM),
    ("ptrace", (16, 1), errno.EPERM),
    ("unshare", (0x10000000,), errno.EPERM),
    ("memfd_create", (), errno.ENOSYS),
    ("io_uring_setup", (), errno.ENOSYS),
    ("mount", (), errno.EPERM),
    ("reboot", (), errno.EPERM),
    ("socket", (AF_INET, STREAM), errno.EPERM),
    ("socket", (AF_NETLINK, 3), errno.EPERM),
    ("socket", (AF_VSOCK, STREAM), errno.EPERM),
    ("socket", (AF_UNIX, STREAM), errno.EPERM),
    ("socketpair", (AF_UNIX, DGRAM), errno.EPERM),
    ("connect", (), errno.EPERM),
    ("fcntl", (0, F_SETOWN, 1), errno.EPERM),
    ("fcntl", (0, F_SETSIG, 9), errno.EPERM),
    ("socketpair", (AF_UNIX, STREAM | CLOSE_ON_EXEC), ALLOWED),
    ("ioctl", (0, TCGETS), ALLOWED),
    ("kill", (OWN, 15), ALLOWED),
    ("tgkill", (OWN, OWN, 6), ALLOWED),
    ("fcntl", (0, F_GETFL), ALLOWED),
    ("fchmod", (), 0),
    ("utimensat", (0, 0, 0x7F00), 0),
    ("utimensat", (0, 0, 0), errno.EPERM),
    ("setxattr", (), errno.ENOTSUP),
]
NAMESPACES = [
    ("ioctl", (0, TIOCSTI), errno.EPERM),
    ("ioctl", (0, TIOCSTI | ABOVE), errno.EPERM),
    ("kill", (1, 9), ALLOWED),
    ("execve", (), ALLOWED),
]
AMONG_OTHERS = [
    ("ioctl", (0, TIOCSTI), errno.ENOTTY),
    ("ioctl", (0, SET_IMMUTABLE), errno.ENOTTY),
    ("kill", (1, 9), errno.EPERM),
    ("kill", (0, 9), errno.EPERM),
    ("kill", (2**32 - 1, 9), errno.EPERM),
    ("tgkill", (1, 1, 9), errno.EPERM),
    ("tkill", (1, 9), errno.EPERM),
    ("pidfd_open", (1,), errno.EPERM),
    ("prlimit64", (0,), ALLOWED),
    ("prlimit64", (1,), errno.EPERM),
    ("execve", (), errno.EPERM),
]


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(
    ("rules", "expected"),
    [(rules_of_namespaces(), BOTH + NAMESPACES), (rules_among_others(OWN), BOTH + AMONG_OTHERS)],
    ids=["namespaces", "among others"],
)
def test_calls_get_their_verdict(
    machine: Machine, rules: tuple[object, ...], expected: list[tuple[str, tuple[int, ...], object]]
) -> None:
    program = assemble(rules, machine)  # type: ignore[arg-type]
    column = list(ARCHITECTURES).index(machine)
    for call, arguments, said in expected:
        number = NUMBERS[call][column]
        if number is not None:
            found = verdict(program, ARCHITECTURES[machine], number, arguments)
            assert found == said, (call, arguments)


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_what_is_not_known_does_not_pass(machine: Machine) -> None:
    program = assemble(rules_of_namespaces(), machine)
    other = next(each for each in ARCHITECTURES if each != machine)
    ours = ARCHITECTURES[machine]
    assert verdict(program, I386, 1) == KILLED
    assert verdict(program, ARCHITECTURES[other], 1) == KILLED
    assert verdict(program, ours, LAST + 1) == errno.ENOSYS
    assert verdict(program, ours, 0x40000000 + 41, (AF_INET,)) == errno.ENOSYS  # x32


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_calls_that_no_rule_names_pass(machine: Machine) -> None:
    program = assemble(rules_among_others(OWN), machine)
    named = {pair[list(ARCHITECTURES).index(machine)] for pair in NUMBERS.values()}
    for number in set(range(LAST + 1)) - named:
        assert verdict(program, ARCHITECTURES[machine], number) == ALLOWED
