# jp_static_zlib.m4 - a libz.a that can be carried inside a shared library
#
# JP_STATIC_ZLIB sets RECORDER_ZLIB_LIBS to its path, or, where there is none
# (or it is not position-independent), RECORDER_ZLIB_CPPFLAGS so that the
# recorder stores its blocks unpacked.
AC_DEFUN([JP_STATIC_ZLIB], [
AC_MSG_CHECKING([for a static zlib that a plugin can carry])
RECORDER_ZLIB_LIBS=`$CC -print-file-name=libz.a 2>/dev/null`
RECORDER_ZLIB_CPPFLAGS=$ZLIB_CFLAGS
jp_save_CFLAGS=$CFLAGS
jp_save_LIBS=$LIBS
CFLAGS="$CFLAGS -fPIC -shared -Wl,--exclude-libs,ALL"
LIBS="$RECORDER_ZLIB_LIBS"
AS_CASE([$RECORDER_ZLIB_LIBS], [/*],
    [AC_LINK_IFELSE([AC_LANG_SOURCE([[
#include <zlib.h>
int pack(z_stream *s);
int pack(z_stream *s) { return deflateInit(s, 1) + deflate(s, 4); }]])],
        [], [RECORDER_ZLIB_LIBS=])],
    [RECORDER_ZLIB_LIBS=])
CFLAGS=$jp_save_CFLAGS
LIBS=$jp_save_LIBS
AS_IF([test "x$RECORDER_ZLIB_LIBS" = x],
    [RECORDER_ZLIB_CPPFLAGS="-DJPR_WITHOUT_ZLIB"
     AC_MSG_RESULT([no: the recorder's files are not packed])],
    [AC_MSG_RESULT([$RECORDER_ZLIB_LIBS])])
AC_SUBST([RECORDER_ZLIB_LIBS])
AC_SUBST([RECORDER_ZLIB_CPPFLAGS])
])
