/* Switches one thread to the locale "C", in which numbers have a decimal point. */
#ifndef DG_C_LOCALE_H
#define DG_C_LOCALE_H

#include <locale.h>

/* Returns the thread's previous locale, for uselocale(). If newlocale() failed, the thread's locale is unchanged. */
locale_t dg_use_c_locale(void);

#endif
