# jp_slurm.m4 - find a packaged or hand-built Slurm, or do without one
#
# JP_SLURM sets SLURM_CFLAGS, SLURM_LIBS, SLURM_PLUGINDIR, the conditional
# HAVE_SLURM and the macro HAVE_SLURM, and JP_PLUGSTACK_MODULE: the module as
# plugstack.conf names it. --with-slurm=PREFIX looks there first;
# --without-slurm builds only what needs no Slurm.
AC_DEFUN([JP_SLURM], [
AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--with-slurm=PREFIX],
        [Slurm's prefix (default: found by itself)])],
    [], [with_slurm=yes])
AC_ARG_WITH([slurm-plugindir],
    [AS_HELP_STRING([--with-slurm-plugindir=DIR],
        [folder of Slurm's plugins (default: found by itself if it lies in \
the prefix, else LIBDIR/slurm)])])
SLURM_CFLAGS=
SLURM_LIBS=
jp_slurm_version=
jp_slurm_plugindir=
AS_IF([test "x$with_slurm" != xno], [
    AS_CASE([$with_slurm], [yes], [], [
        # no warnings about headers that are not ours; of /usr they are such
        AS_IF([test "x$with_slurm" != x/usr],
            [SLURM_CFLAGS="-isystem $with_slurm/include"])
        SLURM_LIBS="-L$with_slurm/lib"
        AS_IF([test -d "$with_slurm/lib64"],
            [SLURM_LIBS="-L$with_slurm/lib64"])
        # the programs run with that one, whatever ld.so would find
        AS_IF([test "x$with_slurm" != x/usr],
            [SLURM_LIBS="$SLURM_LIBS -Wl,-rpath,${SLURM_LIBS#-L}"])])
    jp_save_CPPFLAGS=$CPPFLAGS
    jp_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $SLURM_CFLAGS"
    AC_CHECK_HEADER([slurm/spank.h], [], [AC_MSG_ERROR([slurm/spank.h was \
not found: the SPANK module is built against it (Debian: libslurm-dev, Fedora: \
slurm-devel); --without-slurm builds the analysis only])], [
#include <stdint.h>
#include <slurm/slurm.h>])
    LIBS="$SLURM_LIBS -lslurm $LIBS"
    AC_CHECK_FUNC([slurm_hostlist_create], [], [AC_MSG_ERROR([libslurm was \
not found or cannot be linked (Debian: libslurm-dev, Fedora: slurm-devel)])])
    SLURM_LIBS="$SLURM_LIBS -lslurm"
    AC_MSG_CHECKING([for the release of Slurm])
    AC_COMPUTE_INT([jp_slurm_num], [SLURM_VERSION_NUMBER], [
#include <slurm/slurm.h>], [jp_slurm_num=0])
    jp_slurm_version=`printf '%d.%02d.%d' "$((jp_slurm_num >> 16))" \
        "$(((jp_slurm_num >> 8) & 255))" "$((jp_slurm_num & 255))"`
    AC_MSG_RESULT([$jp_slurm_version])
    # A hostlist became a pointer type in 23.11, slurm_load_job took a step id
    # in 26.05: ask the compiler and not the release.
    AC_MSG_CHECKING([whether hostlist_t is a pointer type])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <slurm/slurm.h>]],
        [[hostlist_t h = slurm_hostlist_create(""); (void) h;]])],
        [AC_MSG_RESULT([yes])
         AC_DEFINE([HAVE_SLURM_HOSTLIST_POINTER], [1],
            [hostlist_t is itself a pointer (before Slurm 23.11)])],
        [AC_MSG_RESULT([no])])
    AC_MSG_CHECKING([whether slurm_load_job takes a step id])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <slurm/slurm.h>]],
        [[slurm_step_id_t id = {0}; job_info_msg_t *jobs = NULL;
          (void) slurm_load_job(&jobs, id, 0);]])],
        [AC_MSG_RESULT([yes])
         AC_DEFINE([HAVE_SLURM_LOAD_JOB_STEP_ID], [1],
            [slurm_load_job takes a slurm_step_id_t (Slurm 26.05)])],
        [AC_MSG_RESULT([no])])
    # From 23.11 on a program can be put in front of the task's.
    AC_CHECK_DECLS([spank_prepend_task_argv], [], [], [
#include <stdint.h>
#include <slurm/spank.h>])
    AC_MSG_CHECKING([whether slurm_notify_job takes a step id])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <slurm/slurm.h>]],
        [[slurm_step_id_t id = {0}; (void) slurm_notify_job(id, "");]])],
        [AC_MSG_RESULT([yes])
         AC_DEFINE([HAVE_SLURM_NOTIFY_JOB_STEP_ID], [1],
            [slurm_notify_job takes a slurm_step_id_t (Slurm 26.05)])],
        [AC_MSG_RESULT([no])])
    AC_MSG_CHECKING([for the arguments of slurm_kill_job_step])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <slurm/slurm.h>]],
        [[(void) slurm_kill_job_step(1, 0, 9);]])],
        [AC_MSG_RESULT([three])
         AC_DEFINE([HAVE_SLURM_KILL_JOB_STEP], [3],
            [slurm_kill_job_step's number of arguments])],
        [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <slurm/slurm.h>]],
            [[(void) slurm_kill_job_step(1, 0, 9, 0);]])],
            [AC_MSG_RESULT([four])
             AC_DEFINE([HAVE_SLURM_KILL_JOB_STEP], [4])],
            [AC_MSG_RESULT([others])])])
    LIBS=$jp_save_LIBS
    CPPFLAGS=$jp_save_CPPFLAGS
    AC_MSG_CHECKING([for the folder of Slurm's plugins])
    jp_slurm_plugindir=$with_slurm_plugindir
    jp_multiarch=`$CC -print-multiarch 2>/dev/null`
    AS_IF([test -z "$jp_slurm_plugindir"], [
        for d in "$with_slurm/lib64/slurm" "$with_slurm/lib/slurm" \
                "/usr/lib/$jp_multiarch/slurm-wlm" \
                "/usr/lib/$jp_multiarch/slurm" /usr/lib64/slurm \
                /usr/lib/slurm-wlm /usr/lib/slurm /usr/local/lib/slurm \
                /opt/slurm/lib64/slurm /opt/slurm/lib/slurm; do
            AS_IF([test -d "$d"], [jp_slurm_plugindir=$d; break])
        done])
    # nothing is installed outside the prefix: where Slurm has another one, the
    # module has a folder of its own and plugstack.conf its whole path
    JP_PLUGSTACK_MODULE=spank_jobprof.so
    AS_IF([test -z "$with_slurm_plugindir"], [
        jp_prefix=$prefix
        AS_IF([test "x$jp_prefix" = xNONE], [jp_prefix=$ac_default_prefix])
        AS_CASE([$jp_slurm_plugindir], ["$jp_prefix"/*], [
            AS_CASE([$jp_prefix:$jp_slurm_plugindir], [/usr:/usr/local/*],
                [jp_slurm_plugindir=])],
            [jp_slurm_plugindir=])])
    AS_IF([test -z "$jp_slurm_plugindir"],
        [jp_slurm_plugindir='${libdir}/slurm'
         JP_PLUGSTACK_MODULE='$(slurmplugindir)/spank_jobprof.so'])
    AC_MSG_RESULT([$jp_slurm_plugindir])
    AC_DEFINE([HAVE_SLURM], [1], [libslurm and spank.h are there])
])
AC_SUBST([SLURM_CFLAGS])
AC_SUBST([SLURM_LIBS])
AC_SUBST([JP_PLUGSTACK_MODULE])
AC_SUBST([SLURM_PLUGINDIR], [$jp_slurm_plugindir])
AM_CONDITIONAL([HAVE_SLURM], [test "x$with_slurm" != xno])
])
