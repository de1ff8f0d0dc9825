/* Switches one thread to the locale "C", in which numbers have a decimal point. */
#pragma once

#include <locale.h>

/* Returns the thread's previous locale, for uselocale(). If newlocale() failed, the thread's locale is unchanged. */
locale_t dg_use_c_locale(void);
