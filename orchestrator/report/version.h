/* version.h - the version that reports say they were written by. */
#ifndef JP_REPORT_VERSION_H
#define JP_REPORT_VERSION_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#define JP_VERSION PACKAGE_VERSION
#else
#define JP_VERSION "unknown"
#endif

#endif
