# jp_harden.m4 - what makes an exploit harder, each where the tools know it
#
# JP_HARDEN sets JP_HARDEN_CPPFLAGS, JP_HARDEN_CFLAGS, JP_HARDEN_LDFLAGS,
# JP_PIE_LDFLAGS (programs only) and JP_HARDENED, the words that
# tests/common/hardening.test looks for in what was built. Sanitizers and
# libFuzzer replace stack protector and fortification. The rest is left out there, too:
# a program that may lie anywhere has 400,000 addresses of what they add to correct
# at each start.
AC_DEFUN([JP_HARDEN], [
AC_ARG_ENABLE([hardening],
    [AS_HELP_STRING([--disable-hardening],
        [build without stack protector, fortified calls, PIE and RELRO])])
JP_HARDENED=
AS_IF([test "x$JP_SAN$JP_FUZZ" != x],
    [JP_HARDEN_TRY([-no-pie], [], [-no-pie], [JP_PIE_LDFLAGS=-no-pie])],
    [test "x$enable_hardening" != xno], [
    JP_HARDEN_C([-fstack-protector-strong], [stack-protector])
    JP_HARDEN_C([-fstack-clash-protection])
    JP_HARDEN_FORTIFY([3])
    JP_HARDEN_FORTIFY([2])
    JP_HARDEN_C([-fcf-protection])
    JP_HARDEN_C([-mbranch-protection=standard])
    JP_HARDEN_PIE
    JP_HARDEN_LD([-Wl,-z,relro], [relro])
    JP_HARDEN_LD([-Wl,-z,now], [now])
    JP_HARDEN_LD([-Wl,-z,noexecstack], [noexecstack])
    JP_HARDEN_LD([-Wl,-z,separate-code])])
AC_SUBST([JP_HARDEN_CPPFLAGS])
AC_SUBST([JP_HARDEN_CFLAGS])
AC_SUBST([JP_HARDEN_LDFLAGS])
AC_SUBST([JP_PIE_LDFLAGS])
AC_SUBST([JP_HARDENED])
])

# JP_HARDEN_TRY(WHAT, CFLAGS, LDFLAGS, IF-YES): does a program link, silently?
AC_DEFUN([JP_HARDEN_TRY], [
AC_MSG_CHECKING([whether $CC takes $1])
jp_save_CFLAGS=$CFLAGS
jp_save_LDFLAGS=$LDFLAGS
CFLAGS="$CFLAGS $2 -Werror"
LDFLAGS="$LDFLAGS $3"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>
#include <string.h>]], [[char text[16] = ""; memset(text, 'a', 15); puts(text);]])],
    [jp_takes=yes], [jp_takes=no])
CFLAGS=$jp_save_CFLAGS
LDFLAGS=$jp_save_LDFLAGS
AC_MSG_RESULT([$jp_takes])
AS_IF([test $jp_takes = yes], [$4])
])

# JP_HARDEN_C(FLAG, [WORD])
AC_DEFUN([JP_HARDEN_C], [
JP_HARDEN_TRY([$1], [$1], [],
    [JP_HARDEN_CFLAGS="$JP_HARDEN_CFLAGS $1"
     JP_HARDENED="$JP_HARDENED $2"])])

# JP_HARDEN_LD(FLAG, [WORD])
AC_DEFUN([JP_HARDEN_LD], [
JP_HARDEN_TRY([$1], [], [$1],
    [JP_HARDEN_LDFLAGS="$JP_HARDEN_LDFLAGS $1"
     JP_HARDENED="$JP_HARDENED $2"])])

# JP_HARDEN_FORTIFY(LEVEL): unless a higher one works; glibc warns without -O
AC_DEFUN([JP_HARDEN_FORTIFY], [
AS_CASE([$JP_HARDENED], [*fortify*], [],
    [JP_HARDEN_TRY([-D_FORTIFY_SOURCE=$1],
        [-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$1], [],
        [JP_HARDEN_CPPFLAGS="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$1"
         JP_HARDENED="$JP_HARDENED fortify"])])])

# libtool puts -fPIC behind -fPIE for what goes into a shared library
AC_DEFUN([JP_HARDEN_PIE], [
JP_HARDEN_TRY([-fPIE -pie], [-fPIE], [-pie],
    [JP_HARDEN_CFLAGS="$JP_HARDEN_CFLAGS -fPIE"
     JP_PIE_LDFLAGS=-pie
     JP_HARDENED="$JP_HARDENED pie"])])
